# SPDX-License-Identifier: Apache-2.0
"""Level `all`: each open of real programs is a row, with what was moved; and levels beside each other."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from audited import Audit, await_true, expect, paths, rows, shared  # noqa: E402

SIZES = {f"src/f{i}": 1000 * i + 1 for i in range(1, 30)}


def opens(ops, comm=None):
    """What was opened: (path, bytes read, bytes written) in the order of opening."""
    return [(op["path"], op["bytes_read"], op["bytes"]) for op in ops
            if op["op"] == "open" and comm in (None, op["comm"])]


def recorded(audit, text, *options):
    """The rows of a run once everything that it had open is closed, which the kernel tells later."""
    done = audit.recorded(text, "--audit", "all", *options)
    exec_id = done[0]["exec"]
    return audit.ops("--exec", str(exec_id))


def closed(audit, text, expected):
    """The opens of a run, which must become what is expected."""
    ops = recorded(audit, text)
    exec_id = str(ops[0]["exec"])
    told = []

    def as_expected():
        told[:] = opens(audit.ops("--exec", exec_id))
        return told == expected
    try:
        await_true(as_expected, "opens", seconds=5)
    except shared.Failed:
        raise shared.Failed(f"{text}: expected {expected}, recorded {told}") from None


def check_shell(audit):
    """Reading, copying in the kernel, appending, and a descriptor that somebody else writes to."""
    audit.put("base", "b" * 6000)
    audit.put("other", "o" * 10)
    closed(audit, "cat base other > /dev/null", [("base", 6000, 0), ("other", 10, 0)])
    closed(audit, "cat base > copy", [("copy", 0, 6000), ("base", 6000, 0)])
    closed(audit, "printf more >> base", [("base", 0, 4)])
    closed(audit, "{ printf 1; /usr/bin/printf 23; sh -c 'printf 456'; } > parts", [("parts", 0, 6)])
    closed(audit, "dd if=base of=part bs=1000 count=2 status=none", [("base", 6004, 0), ("part", 0, 2000)])
    closed(audit, ": < base", [("base", 0, 0)])


def check_tar(audit):
    """Each file is opened once by who packs it, and read as far as it goes."""
    for name, size in SIZES.items():
        audit.put(name, "x" * size)
    ops = recorded(audit, "tar -cf a.tar src && mkdir out && tar -xf a.tar -C out && rm -r out")
    exec_id = str(ops[0]["exec"])

    def told():
        return [each for each in opens(audit.ops("--exec", exec_id), "tar") if each[0].startswith("src/")]
    expected = sorted((name, size, 0) for name, size in SIZES.items())
    await_true(lambda: sorted(told()) == expected, f"each file once: {told()}")
    whole = audit.ops("--exec", exec_id)
    archive = [each for each in opens(whole) if each[0] == "a.tar"]
    written = sum(op["bytes"] for op in whole if op["op"] == "write" and op["path"] == "a.tar")
    expect([each[2] for each in archive] == [written, 0] and archive[1][1] >= written, f"{archive} {written}")
    unpacked = [each for each in opens(whole) if each[0].startswith("out/src/")]
    expect(sorted((path[4:], moved) for path, _, moved in unpacked) == sorted(SIZES.items()), f"{unpacked}")
    expect(paths(whole, "unlink") == sorted("out/" + name for name in SIZES), "what was removed")


def check_git(audit):
    """What opens have written is what was written, and a repository that was made so is sound."""
    if shutil.which("git") is None:
        print("git: not installed")
        return
    ops = recorded(audit, "git init -q r && cd r && git config user.email a@b && git config user.name n && "
                          "for i in 1 2 3 4 5 6; do echo $i >> f; git add f; git commit -qm $i; done && git gc -q && "
                          "cd .. && git clone -q r s && git -C s fsck --strict 2>&1 && cmp r/f s/f")
    exec_id = str(ops[0]["exec"])

    def written(kind):
        return sum(op["bytes"] for op in audit.ops("--exec", exec_id) if op["op"] == kind)
    await_true(lambda: written("open") == written("write") > 1000, f"{written('open')} {written('write')}")


MAPPED = r"""
import mmap, os
late = open("late", "w")
for _ in range(5000): os.close(os.open("base", os.O_RDONLY))
os.fsync(late.fileno())
late.write("late")
late.close()
with open("mapped", "w+b") as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 8192) as m: m[0:2] = b"hi"; m[4096:4098] = b"ho"
descriptors = [os.open("base", os.O_RDONLY) for _ in range(300)]
os.unlink("other")
"""


def check_descriptors(audit):
    """What a mapping wrote, and many at once that nobody closes."""
    audit.put("map.py", MAPPED)
    ops = recorded(audit, "python3 map.py")
    exec_id = str(ops[0]["exec"])

    def written():
        return [each[2] for each in opens(audit.ops("--exec", exec_id)) if each[0] == "mapped"]
    await_true(lambda: written() == [8192], f"the mapping's bytes: {written()}")
    told = opens(audit.ops("--exec", exec_id))
    expect(sum(path == "base" for path, _, _ in told) == 5300, f"{len(told)} opens")
    expect(("late", 0, 4) in told, "many opens have made it forget one")


def check_beside(audit):
    """Runs of all levels in one branch at once: each is recorded as it says, and all see the same files."""
    step = ("printf %s $0 > $0.new; mv $0.new $0.$i; until [ -e $1.$i ] && [ -e $2.$i ]; do :; done; "
            "cat $1.$i $2.$i > $0.$i.both; ")
    text = "i=0; while [ $i -lt 8 ]; do " + step + "i=$((i+1)); done"
    levels = ("all", "changes", "off")
    running = []
    for level in levels:
        others = [each for each in levels if each != level]
        running.append(subprocess.Popen(
            audit.command("run", "--branch", "beside", "--audit", level, "--", "sh", "-c", text,
                          level, *others), cwd=audit.ws, env=audit.env, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL))
        audit.scratch.watch(running[-1].pid)
    for process in running:
        expect(process.wait(timeout=60) == 0, "a run fails")
    for level in levels:
        both = "".join(each for each in levels if each != level)
        for i in range(8):
            expect(audit.ok("fs", "cat", "--branch", "beside", f"/{level}.{i}.both") == both, f"{level} {i}")
    told = {}
    for row in rows(audit, "SELECT o.op, o.path, json_extract(e.command, '$[3]') AS level FROM ops o "
                           "JOIN execs e ON e.id = o.exec WHERE o.branch = 'beside' AND o.op <> 'mkdir'"):
        told.setdefault(row["level"], []).append((row["op"], row["path"]))
    expect(set(told) == {"all", "changes"}, f"{set(told)}")
    expect({op for op, _ in told["changes"]} == {"create", "write", "rename"}, f"{told['changes']}")
    expect(all(path.startswith("/changes.") for _, path in told["changes"]), f"{told['changes']}")
    read = sorted(path for op, path in told["all"] if op == "open" and not path.startswith("/all."))
    expect(read == sorted(f"/{other}.{i}" for other in ("changes", "off") for i in range(8)), f"{read}")


def check_configured(audit):
    """config.toml says what holds where a run does not."""
    file = os.path.join(audit.ws, ".agentfs", "config.toml")
    with open(file, encoding="utf-8") as config:
        text = config.read()
    expect(text.count('level = "changes"') == 1, text)
    audit.end()
    with open(file, "w", encoding="utf-8") as config:
        config.write(text.replace('level = "changes"', 'level = "all"'))
    expect("base" in paths(audit.recorded("cat base > /dev/null; : > changed"), "open"), "no open")
    expect(paths(audit.recorded("cat base > /dev/null; : > changed", "--audit", "changes"), "open") == [], "opens")
    profiles = sorted(mount["profile"] for mount in json.loads(audit.ok("--json", "status"))["mounts"])
    expect(profiles == ["audited", "default"], f"{profiles}")


def run(runs):
    audit = Audit(runs)
    audit.ok("init")
    for check in (check_shell, check_tar, check_git, check_descriptors, check_beside, check_configured):
        check(audit)
        print(check.__name__, "ok", flush=True)


shared.main(run, timeout=100)
