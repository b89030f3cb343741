"""Commands, configuration errors and exit codes, from outside."""

import json
import os
import re

from lib import WEIR, check, conclude, folder, weir

d = folder()
yaml = os.path.join(d, "weir.yaml")


def config(text):
    with open(yaml, "w", encoding="utf-8") as file:
        file.write(text)
    return yaml


def fails(what, code, args, *wanted):
    """Exit code, and every wanted text on standard error, in this order."""
    rc, out, err = weir(*args)
    check(f"{what}: exit code {code}", rc == code, f"got {rc}\n{err}")
    at = 0
    for text in wanted:
        at = err.find(text, at)
        check(f"{what}: says {text!r}", at >= 0, err)
        if at < 0:
            break
    check(f"{what}: nothing on standard output", out == "", out)


# Usage.
fails("unknown command", 64, ["rnu"], "unknown command rnu", "did you mean run?")
fails("no job", 64, ["run"], "run needs JOB")
fails("unknown job", 64, ["run", "wordcuont"], "unknown job wordcuont", "did you mean wordcount?")
fails("missing plug-in", 64, ["run", "./no-such.so"], "no-such.so")
fails("unknown option", 64, ["run", "wordcount", "--reprot", "x"], "no option --reprot",
      "did you mean --report?")
fails("option without value", 64, ["run", "wordcount", "--report"], "--report needs FILE")
fails("two jobs", 64, ["run", "wordcount", "flowstats"], "too many")
fails("second word unknown", 64, ["checkpoint", "lst"], "did you mean list?")
fails("second word missing", 64, ["checkpoint"], "needs a second word")
fails("no such folder", 66, ["checkpoint", "list", "/no/such"], "/no/such")
rc, out, err = weir()
check("without arguments: 64 and the list", rc == 64 and "usage" in out, out + err)
for words in (["help"], ["--help"], ["run", "--help"], ["help", "run"], ["version"], ["--version"]):
    rc, out, err = weir(*words)
    check(f"{words}: 0 on standard output", rc == 0 and out and not err, out + err)

# One pass over all kinds of mistakes, from file and --set.
file = config("""job:
  evnts: 5
  events: 010
checkpoint:
  interval: 10
  dir: x
  interval: 20ms
memory:
  frame-size: 5KiB
cores: 0,99
parallelism: 0
""")
fails("all in one pass", 78,
      ["run", "nexmark-q1", "--config", file, "--set", "job.seed=1", "--set", "job.seed=2",
       "--set", "job.window=1KiB"],
      f"{file}:2:3: error: unknown key job.evnts", "    2 |   evnts: 5", "      |   ^~~~~",
      "did you mean job.events?", f"{file}:3:11: error: job.events: 010",
      f"{file}:5:13: error: checkpoint.interval: 10 has no unit",
      f"{file}:7:3: error: checkpoint.interval is given twice",
      f"{file}:9:15: error: memory.frame-size: 5KiB is not a multiple",
      f"{file}:10:10: error: cores: CPU 99 is not there",
      f"{file}:11:14: error: parallelism: 0 is out of range",
      "--set job.seed=2:1:1: error: job.seed is given twice",
      "--set job.window=1KiB:1:13: error: job.window: wrong unit KiB")
rc, out, err = weir("check", "nexmark-q1", "--config", file)
check("check finds what run finds", rc == 78 and err.count(": error: ") == 7, err)

fails("syntax error", 78, ["check", "--config", config("job: {seed: 010\nx: ]\n")],
      f"{file}:1:13: error: job.seed", "YAML syntax")
fails("operator that is none", 78,
      ["check", "nexmark-q1", "--set", "operators.bidz.parallelism=2"],
      "--set operators.bidz.parallelism=2:1:1: error:", "did you mean operators.bids?")
# What the machine and the job say comes in the same pass as what the configuration says.
fails("a directory whose interval is wrong", 78,
      ["check", "nexmark-q1", "--set", "checkpoint.interval=100", "--set",
       "checkpoint.dir=/proc/weir"],
      "checkpoint.interval: 100 has no unit", "checkpoint.dir: /proc/weir cannot be written")
for command in ("run", "check"):
    fails(f"{command} of a job without its input", 78,
          [command, "wordcount", "--set", "job.sed=1", "--set", "job.output=null"],
          "configuration: error: job.input: it is not set, and source 'lines' reads it",
          "help: add --set job.input=PATH", "unknown key job.sed")
    fails(f"{command} of captures without input", 78, [command, "flowstats"],
          "job.input: it is not set, and source 'packets' reads it")
# Also where nothing similar is there, and where a number fits no word.
fails("unknown key", 78, ["check", "--set", "a=1"], "unknown key a", "help: weir help keys lists all keys")
fails("unknown section", 78, ["check", "--config", config("zzz: {y: 1}")], "unknown section zzz",
      "help: weir help keys lists all keys")
fails("unknown operator", 78, ["plan", "nexmark-q1", "--set", "operators.nosuch.parallelism=2"],
      "operators.nosuch: the job has no operator of this id", "help: it has: bids, convert, result")
for value in ("18446744073709G", "99999999999999999999", "99999999999999999999G"):
    fails("a number too large", 78, ["check", "--set", f"job.events={value}"],
          f"--set job.events={value}:1:12: error: job.events: {value} is out of range: 0 to 10000000G")
for key, value, most in (("memory.state", "99999999999999999TiB", "wrong"),
                         ("memory.state", "99999999999999999GiB", "1MiB to 1048576GiB"),
                         ("checkpoint.timeout", "99999999999999999h", "1ms to 8760h"),
                         ("restart.backoff-multiplier", "99999999999.5", " to ")):
    fails("a value too large", 78, ["check", "--set", f"{key}={value}"], f"{key}: ",
          *([f"{value} is out of range: ", most] if most != "wrong" else ["unknown unit"]))
fails("a CPU that is not there", 78, ["check", "--set", "cores=9999"], "cores: CPU 9999 is out of")
fails("a CPU that is not there", 78, ["check", "--set", "cores=1000"],
      "cores: CPU 1000 is not there; these are: ")
rc, out, err = weir("plan", "wordcount")
check("a plan needs no input", rc == 0, err)

fails("no configuration file", 66, ["check", "--config", os.path.join(d, "none.yaml")], "none.yaml")
fails("no input", 66, ["run", "wordcount", "--set", "job.input=/no/such"],
      "--set job.input=/no/such:1:11: error: job.input: /no/such")
fails("directory that cannot be written", 74,
      ["run", "nexmark-q1", "--set", "job.output=/proc/weir"],
      "--set job.output=/proc/weir:1:12: error: job.output: /proc/weir cannot be written")
fails("checkpoint directory that cannot be written", 74,
      ["run", "nexmark-q1", "--config", config("checkpoint: {interval: 1s, dir: /proc/weir}"),
       "--set", "job.output=null"],
      f"{file}:1:33: error: checkpoint.dir: /proc/weir cannot be written")
fails("configuration before directories", 78,
      ["run", "nexmark-q1", "--set", "job.output=/proc/weir", "--set", "job.sed=1"],
      "cannot be written", "unknown key job.sed")
fails("checkpoint that is none", 66, ["check", "--set", "restore.from=lastest"],
      "--set restore.from=lastest:1:14: error: restore.from", "did you mean latest?")
fails("report that cannot be written", 74,
      ["run", "nexmark-q1", "--set", "job.output=null", "--report", "/proc/weir/r.json"],
      "--report /proc/weir/r.json")
os.makedirs(os.path.join(d, "out"))
open(os.path.join(d, "out", "part-result-0-1"), "w").close()
fails("another run's output", 78, ["run", "nexmark-q1", "--set", f"job.output={d}/out"],
      "error: job.output:", "holds another run's output (part-result-0-1)")
check("a trial leaves nothing", os.listdir(os.path.join(d, "out")) == ["part-result-0-1"])
rc, out, err = weir("check", "nexmark-q1", "--set", f"job.output={d}/a/b/c")
check("a trial removes the folders that it made", rc == 0 and not os.path.exists(f"{d}/a"), err)

# What is shown parses back to the same.
rc, shown, err = weir("show-config", "--set", "job.seed=9", "--set", "operators.map.cores=0,0",
                      "--set", "job.input=/a \"b\": #c")
check("show-config", rc == 0 and "seed: 9  # --set job.seed=9:1:10" in shown, shown + err)
rc, again, err = weir("show-config", "--config", config(shown))
strip = lambda text: [re.sub(r"  # .*", "", line) for line in text.splitlines()]
check("show-config parses back", rc == 0 and strip(again) == strip(shown), err)
rc, out, err = weir("show-config", "--json", "--config", file)
values = json.loads(out)
check("show-config --json", values["job.seed"]["value"] == 9 and
      values["job.seed"]["origin"].startswith(file) and
      values["job.name"] == {"value": None, "origin": "default"}, out)

# Any one letter of any key changed is an error (the unit test tries all changes; here: the program).
for key in values:
    for bad in (key[:-1], key + "s", key[1:], key.replace(key[-2], "_", 1)):
        if bad in values:
            check(f"{bad} and {key} are one letter apart", False)
rc, out, err = weir("help", "keys")
check("every key is in the table", all(f"`{key}`" in out for key in values if "map" not in key))

with open(os.path.join(os.path.dirname(__file__), "../../docs/configuration.md"),
          encoding="utf-8") as f:
    check("docs/configuration.md ends with the table of weir help keys", f.read().endswith(out))

# The plan's placement, pasted back, gives the same plan.
for job in ("nexmark-q5", "wordcount", "flowstats"):
    rc, plan, err = weir("plan", job, "--set", "job.input=/usr/share/common-licenses")
    block = plan[plan.index("placement, as configuration\n"):].splitlines()[1:]
    rc, again, err2 = weir("plan", job, "--set", "job.input=/usr/share/common-licenses",
                           "--config", config("\n".join(line[2:] for line in block)))
    check(f"plan of {job} pasted back", rc == 0 and again == plan, err2 + again)

# Errors of one run are the same bytes each time.
check("errors are stable", weir("check", "--set", "a=1") == weir("check", "--set", "a=1"))
conclude()
