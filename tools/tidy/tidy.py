#!/usr/bin/env python3
"""tidy: the rules of the house that no compiler checks. Prints file:line: rule: what is wrong.

usage: tidy.py [--root DIR] [--build DIR] [--quick]

--build  a build directory with compile_commands.json; without it headers are not compiled
--quick  does not compile headers
Exit status 0 only if nothing is wrong. The last line says `N passed, N failed`: one check is one
rule on one file.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402
from source import Source  # noqa: E402

TOPS = ["include", "engine", "statebackend", "drivers", "jobs", "app", "bench", "tests"]


def under(path, prefix):
    """Is path the file or in the folder `prefix`?"""
    return path == prefix or path.startswith(prefix.rstrip("/") + "/")


def allowed(path, table):
    return any(path == entry or (entry.endswith("/") and path.startswith(entry))
               for entry in table)


def rank(path):
    best = None
    for prefix, number in rules.RANKS:
        if under(path, prefix) and (best is None or len(prefix) > len(best[0])):
            best = (prefix, number)
    return best[1] if best else None


# Each rule is a generator of (line, text) over one source; its name is what is printed.

def rule_includes_point_up(src, tree):
    stem = os.path.splitext(src.path)[0]
    own = stem + ".h"
    first = True
    for no, kind, name in src.includes():
        if kind == "<" and not name.startswith("weir/"):
            first = False
            continue
        if kind == '"' and name.endswith(".pb-c.h"):
            continue
        target = "include/" + name if name.startswith("weir/") else name
        if kind == '"' and "/" not in name or ".." in name:
            yield no, f'"{name}" is not relative to the root'
            continue
        if src.path.endswith(".c") and own in tree and first and kind == '"' and \
                target not in (own, stem + "_priv.h"):
            yield no, f'the own header "{own}" comes first'
        first = False
        yield from arrow(src.path, target, no)


def arrow(path, target, no):
    for (a, b), _reason in rules.INCLUDE_EXCEPTIONS.items():
        if under(path, a) and under(target, b):
            return
    mine, its = rank(path), rank(target)
    if its is None:
        yield no, f'"{target}" is in no known folder'
    elif mine is not None and its > mine:
        yield no, f'"{target}" stands above: inclusion points up only'
    elif any(under(path, p) for p in rules.ONLY_PUBLIC) and \
            not under(target, "include/weir") and rank(target) != mine:
        yield no, f'"{target}" is not public'


def rule_third_party_in_its_folder(src, tree):
    for no, kind, name in src.includes():
        if kind != "<" or name.startswith("weir/") or under(src.path, "tests"):
            continue
        for pattern, folders in rules.THIRD_PARTY:
            if re.fullmatch(pattern, name) and not any(under(src.path, f) for f in folders):
                yield no, f"<{name}> belongs to {', '.join(folders)}"


def rule_engine_is_pure(src, tree):
    if not any(under(src.path, p) for p in rules.PURE):
        return
    known = [p for p, _ in rules.THIRD_PARTY]
    for no, kind, name in src.includes():
        if kind == "<" and not name.startswith("weir/") and name not in rules.PURE_HEADERS and \
                not any(re.fullmatch(p, name) for p in known):
            yield no, f"<{name}> reaches outside"
    for name in rules.PURE_BANNED:
        if (src.path, name) in rules.PURE_EXCEPTIONS:
            continue
        for no in src.calls(name):
            yield no, f"{name}() reaches outside"


def rule_no_banned_calls(src, tree):
    if under(src.path, "tests"):
        return
    for name, instead in rules.BANNED.items():
        for no in src.calls(name):
            yield no, f"{name}(): {instead}"


def rule_only_app_exits(src, tree):
    if any(under(src.path, p) for p in rules.EXIT_ALLOWED):
        return
    for name in rules.EXIT_CALLS:
        if (src.path, name) in rules.EXIT_EXCEPTIONS:
            continue
        for no in src.calls(name):
            yield no, f"{name}() outside app/"


def rule_allocation_has_a_reason(src, tree):
    if not any(under(src.path, p) for p in rules.ALLOC_RULED) or \
            allowed(src.path, rules.ALLOC_ALLOWED):
        return
    for name in rules.ALLOC_CALLS:
        for no in src.calls(name):
            yield no, f"{name}() in a file that tools/tidy/rules.py does not list"


def rule_file_size(src, tree):
    if len(src.lines) > rules.FILE_LINES_MAX:
        yield len(src.lines), f"{len(src.lines)} lines, at most {rules.FILE_LINES_MAX}"


def body_of(src, first, last):
    """Line of the brace that opens the body of the function at lines first to last."""
    return next((no for no in range(first, last) if src.code[no - 1].startswith("{")), last)


def rule_function_size(src, tree):
    for name, first, last in src.functions():
        size = last - body_of(src, first, last) + 1
        if size > rules.FUNCTION_LINES_MAX:
            yield first, f"{name}() has {size} lines, at most {rules.FUNCTION_LINES_MAX}"


def rule_no_recursion(src, tree):
    if not any(under(src.path, p) for p in rules.PURE):
        return
    for name, first, last in src.functions():
        pattern = re.compile(r"(?<![\w.>])%s\s*\(" % re.escape(name))
        for no in range(body_of(src, first, last) + 1, last):
            if pattern.search(src.code[no - 1]):
                yield no, f"{name}() calls itself"


def rule_no_struct_typedef(src, tree):
    for no, line in enumerate(src.code, 1):
        if re.match(r"\s*typedef\s+(struct|union|enum)\b", line):
            yield no, "structs have no typedef"


ORDER = re.compile(r"memory_order_(acquire|release|acq_rel|seq_cst|consume)")
LABEL = re.compile(r"\b([A-Z]+\d+[a-z]?):\s+pairs\s+with\s+([A-Z]+\d+[a-z]?)")


def rule_memory_order_is_paired(src, tree):
    if under(src.path, "tests"):
        return
    used = None
    for no, line in enumerate(src.code, 1):
        if re.search(r"\batomic_(thread|signal)_fence\b", line):
            yield no, "a lone fence"
        if re.search(r"\bvolatile\b", line) and not re.search(r"\basm\b|__asm", line):
            yield no, "volatile orders nothing"
        if not ORDER.search(line):
            continue
        place, peer = label_above(src, no)
        if place is None:
            yield no, 'no "LABEL: pairs with LABEL; ..." comment on this memory order'
        elif place == used and ";" in "".join(src.code[place:no - 1]):
            yield no, "shares its label with another memory order"
        elif not any(re.search(r"\b%s:\s+pairs" % peer, text) for text in tree.values()):
            yield no, f"pairs with {peer}, which is nowhere"
        used = place


def label_above(src, no):
    """Line and peer of the nearest label in the comment above the statement at line `no`."""
    for at in range(no, max(0, no - 9), -1):
        text = " ".join(part.strip(" \t*") for part in src.lines[at - 1:no])
        m = LABEL.search(text)
        if m:
            return at, m.group(2)
    return None, None


def guard_of(path):
    name = path[len("include/"):] if path.startswith("include/") else "weir/" + path
    return re.sub(r"\W", "_", name).upper()


def rule_header_guard_and_contract(src, tree):
    if not src.path.endswith(".h") or src.path in rules.NOT_ALONE:
        return
    guard = guard_of(src.path)
    if under(src.path, "tests"):
        guard = re.search(r"#ifndef (\w+)", src.text + "\n#ifndef NONE").group(1)
    if f"#ifndef {guard}" not in src.text or f"#define {guard}" not in src.text:
        yield 1, f"the guard is not {guard}"
    if not any("/*" in line for line in src.lines[:12]):
        yield 1, "no contract at the top"


RULES = [value for name, value in sorted(globals().items()) if name.startswith("rule_")]


def read_tree(root):
    tree = {}
    for top in TOPS:
        for folder, subfolders, files in os.walk(os.path.join(root, top)):
            subfolders.sort()
            for name in sorted(files):
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        tree[os.path.relpath(path, root)] = file.read()
    return tree


def circles(tree):
    """Circles between folders, as text; a folder is where a file lies."""
    edges = {}
    for path, text in tree.items():
        for _no, kind, name in Source(path, text).includes():
            mine, its = os.path.dirname(path), os.path.dirname(name)
            # A folder and its subfolders are one module.
            if kind == '"' and "/" in name and not under(its, mine) and not under(mine, its):
                edges.setdefault(mine, set()).add(its)
    found, done = [], set()

    def visit(folder, trail):
        if folder in trail:
            found.append(" -> ".join(trail[trail.index(folder):] + [folder]))
        elif folder not in done:
            for target in sorted(edges.get(folder, ())):
                visit(target, trail + [folder])
            done.add(folder)

    for folder in sorted(edges):
        visit(folder, [])
    return found


def unneeded(tree):
    """Exceptions of rules.py that nothing needs any more, as text."""
    sources = [Source(path, text) for path, text in tree.items()]

    def call(path, names):
        return any(True for src in sources if src.path == path or path.endswith("/") and
                   src.path.startswith(path) for name in names for _no in src.calls(name))

    def include(mine, its):
        return any(under(name, its) for src in sources if under(src.path, mine)
                   for _no, _kind, name in src.includes())

    for path in rules.ALLOC_ALLOWED:
        if not call(path, rules.ALLOC_CALLS):
            yield f"{path} does not allocate"
    for table in (rules.PURE_EXCEPTIONS, rules.EXIT_EXCEPTIONS):
        for path, name in table:
            if not call(path, [name]):
                yield f"{path} does not call {name}()"
    for mine, its in rules.INCLUDE_EXCEPTIONS:
        if not include(mine, its):
            yield f"{mine} includes nothing of {its}"
    for path in rules.NOT_ALONE:
        if path not in tree:
            yield f"{path} is not there"


def compile_flags(root, build):
    """Every -I, -D, -m and -isystem that the build uses, absolute."""
    flags, seen = [], set()
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for entry in commands:
        words = shlex.split(entry["command"])
        at = 0
        while at < len(words):
            flag = None
            if words[at] in ("-I", "-isystem") and at + 1 < len(words):
                flag = (words[at], os.path.join(entry["directory"], words[at + 1]))
                at += 1
            elif words[at].startswith("-I"):
                flag = ("-I", os.path.join(entry["directory"], words[at][2:]))
            elif words[at].startswith("-isystem"):
                flag = ("-isystem", os.path.join(entry["directory"], words[at][8:]))
            elif re.match(r"-D_GNU_SOURCE|-DWEIR_|-DALLOW_EXPERIMENTAL|-march=x86-64-v2", words[at]):
                flag = (words[at],)
            # Private folders of a target are no place for headers.
            if flag and flag not in seen and not flag[-1].endswith(".p"):
                seen.add(flag)
                flags.extend(flag)
            at += 1
    return flags


def compile_alone(root, path, compiler, flags):
    header = os.path.join(root, path)
    command = compiler + flags + ["-w", "-fsyntax-only", "-include", header, "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.split("\n") if "error:" in line]
    return (errors or [done.stderr])[0].replace(root + "/", "")


def headers_alone(root, tree, build):
    """(path, language, error or None) for every header."""
    flags = compile_flags(root, build)
    cc = shlex.split(os.environ.get("CC", "cc"))
    cxx = shlex.split(os.environ.get("CXX", "c++"))
    jobs = []
    for path in tree:
        if path.endswith(".h") and path not in rules.NOT_ALONE:
            jobs.append((path, "C", cc + ["-std=gnu17", "-x", "c"], flags))
        if path.startswith("include/") and shutil.which(cxx[0]):
            public = ["-I", os.path.join(root, "include")]
            jobs.append((path, "C++", cxx + ["-std=c++17", "-x", "c++"], public))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda j: compile_alone(root, j[0], j[2], j[3]), jobs)
        return [(job[0], job[1], result) for job, result in zip(jobs, results)]


def main():
    parser = argparse.ArgumentParser(description="the rules of the house")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--build")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    root = os.path.abspath(args.root)
    tree = read_tree(root)
    passed = failed = 0

    for path, text in tree.items():
        src = Source(path, text)
        for rule in RULES:
            wrong = list(rule(src, tree))
            for no, what in wrong:
                print(f"{path}:{no}: {rule.__name__[5:].replace('_', '-')}: {what}")
            failed += bool(wrong)
            passed += not wrong
    for circle in circles(tree):
        print(f"{circle.split(' ')[0]}:1: no-circles: {circle}")
        failed += 1
    # Of its own tree only: the exceptions are about that one.
    own = "tools/tidy/rules.py"
    for exception in unneeded(tree) if os.path.exists(os.path.join(root, own)) else ():
        print(f"{own}:1: exceptions-are-needed: {exception}")
        failed += 1
    if args.build and not args.quick:
        for path, language, error in headers_alone(root, tree, os.path.abspath(args.build)):
            if error:
                print(f"{path}:1: header-compiles-alone: {language}: {error}")
            failed += error is not None
            passed += error is None
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
