"""Just enough of C to look at it: comments and strings blanked out, functions found."""

import re

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def _blank(match):
    text = match.group(0)
    if text[0] in "\"'":
        return text[0] + " " * (len(text) - 2) + text[0]
    return re.sub(r"[^\n]", " ", text)


class Source:
    """One file: its lines, and the same lines with comments and literals blanked."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.code = TOKEN.sub(_blank, text).split("\n")

    def includes(self):
        """(line number, '"' or '<', name) of every #include."""
        for no, line in enumerate(self.lines, 1):
            m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if m:
                yield no, m.group(1), m.group(2)

    def functions(self):
        """(name, first line, last line) of every function; bodies begin and end in column 0."""
        start = None
        for no, line in enumerate(self.code, 1):
            if line.startswith("{"):
                start = no
            elif line.startswith("}") and start is not None:
                name, first = self._header(start)
                if name:
                    yield name, first, no
                start = None

    def _header(self, brace):
        """Name and first line of the function whose body opens at line `brace`."""
        first = brace
        while first > 1 and self.code[first - 2].strip() and \
                not re.match(r"[#}]|.*[;}]\s*$", self.code[first - 2]):
            first -= 1
        head = " ".join(self.code[first - 1:brace - 1])
        head = re.sub(r"__attribute__\s*\(\(.*?\)\)|WEIR_PRINTF\([^)]*\)", " ", head)
        m = re.search(r"([A-Za-z_]\w*)\s*\(", head)
        return (m.group(1) if m else None), first

    def calls(self, name):
        """Lines that call the global function `name`: no member, no declaration of one's own."""
        pattern = re.compile(r"(?<![\w.>])%s\s*\(" % re.escape(name))
        if any(pattern.match(line) for line in self.code):
            return  # defined in this file: a local function of that name
        for no, line in enumerate(self.code, 1):
            m = pattern.search(line)
            if m and not line.lstrip().startswith("#"):
                yield no
