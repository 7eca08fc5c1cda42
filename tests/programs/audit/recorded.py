# SPDX-License-Identifier: Apache-2.0
"""What is recorded of real programs in a run: compared with what they did, and whose it is."""
import errno
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from audited import Audit, Names, Runs, await_true, expect, names_there, paths, rows, shared  # noqa: E402
from workspace import NOBODY, as_user, device_for_everybody  # noqa: E402


def check_shell(audit):
    ops = audit.recorded("mkdir d; echo one > d/f; mv d e; ln -s f e/s; ln e/f e/h; chmod 600 e/f; rm e/s; "
                         "rm -r e")
    told = [(op["op"], op["path"], op.get("path2")) for op in ops if op["op"] != "setattr"]
    expect(told[:4] == [("mkdir", "d", None), ("create", "d/f", None), ("write", "d/f", None),
                        ("rename", "d", "e")], f"{told}")
    expect(("symlink", "e/s", None) in told and ("link", "e/f", "e/h") in told, f"{told}")
    expect(paths(ops, "unlink") == ["e/f", "e/h", "e/s"] and told[-1] == ("rmdir", "e", None), f"{told}")
    by = {op["op"]: op["comm"] for op in ops}
    expect(by["mkdir"] == "mkdir" and by["write"] == "sh" and by["rename"] == "mv", f"{by}")
    expect(next(op for op in ops if op["op"] == "write")["bytes"] == 4, f"{ops}")
    chmod = [op for op in ops if op["comm"] == "chmod"]
    expect([(op["op"], op["path"]) for op in chmod] == [("setattr", "e/f")], f"{chmod}")


def check_tar(audit):
    """Every file of an archive is created once, and written with its size."""
    ops = audit.recorded("mkdir src; for i in $(seq 60); do mkdir -p src/$((i % 7)); echo text $i > src/$((i % 7))/f$i; "
                         "done; tar -cf a.tar src; mkdir out; tar -xf a.tar -C out")
    made = [op for op in ops if op["comm"] == "tar" and op["op"] == "create" and op["path"] != "a.tar"]
    expect(len(made) == 60 and all(op["path"].startswith("out/src/") for op in made), f"{len(made)} files")
    for op in ops:
        if op["op"] == "write" and op["path"].startswith("out/"):
            name = op["path"].rsplit("/f", 1)[1]
            expect(op["bytes"] == len(f"text {name}\n"), f"{op}")
    total = sum(op["bytes"] for op in ops if op["op"] == "write" and op["path"] == "a.tar")
    size = int(audit.ok("run", "--", "stat", "-c", "%s", "a.tar"))
    expect(total == size, f"a.tar: {total} of {size} bytes")


def check_git(audit):
    if shutil.which("git") is None:
        print("git: not installed")
        return
    ops = audit.recorded("git init -q g && cd g && git config user.email a@b && git config user.name n && "
                         "echo x > f && git add f && git commit -qm m")
    expect("g/f" in paths(ops, "create"), f"{paths(ops, 'create')}")
    expect(any(path.startswith("g/.git/objects/") for path in paths(ops, "create", "rename", "link")),
           f"{paths(ops, 'create')}")
    renames = {(op["path"], op["path2"]) for op in ops if op["op"] == "rename"}
    expect(any(new == "g/.git/index" for _, new in renames), f"{renames}")


def check_make(audit):
    if shutil.which("make") is None or shutil.which("cc") is None:
        print("make: not installed")
        return
    ops = audit.recorded("mkdir m && cd m && echo 'int main(void){return 0;}' > a.c && "
                         "printf 'a: a.o\\n\\tcc -o a a.o\\na.o: a.c\\n\\tcc -c a.c\\n' > Makefile && make -s")
    made = set(paths(ops, "create"))
    expect({"m/a.c", "m/a.o", "m/a", "m/Makefile"} <= made, f"{made}")
    object_file = [op["comm"] for op in ops if op["path"] == "m/a.o" and op["op"] == "write"]
    expect(object_file and set(object_file) <= {"as"}, f"who wrote a.o: {object_file}")
    parents = {op["pid"]: op["ppid"] for op in ops}
    expect(all(pid > 0 and ppid > 0 for pid, ppid in parents.items()), f"{parents}")


DAEMON = r"""
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for i in range(3):
    with open(f"daemon{i}", "w") as file: file.write("d")
    time.sleep(0.01)
os.rename("daemon2", "daemon.done")
"""


def check_daemon(audit):
    """One that has left its parent, and is a child of the sandbox's first process."""
    ops = audit.recorded(f"python3 -c '{DAEMON}'; while [ ! -e daemon.done ]; do :; done")
    expect(paths(ops, "create") == ["daemon0", "daemon1", "daemon2"], f"{ops}")
    expect(all(op["comm"].startswith("python3") for op in ops), f"{ops}")


def check_static(audit):
    """A program without the C library's help: an interposer would not see it."""
    if shutil.which("cc") is None:
        print("static: there is no compiler")
        return
    source = os.path.join(audit.scratch.path, "static.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <fcntl.h>\n#include <unistd.h>\n'
                   'int main(void){int f=open("by-static",O_CREAT|O_WRONLY,0644);return write(f,"abc",3)!=3;}\n')
    program = os.path.join(audit.ws, "static")
    if subprocess.run(["cc", "-static", "-o", program, source], check=False, capture_output=True).returncode:
        print("static: the compiler cannot")
        return
    ops = audit.recorded("./static")
    expect([(op["op"], op["path"], op["bytes"], op["comm"]) for op in ops] ==
           [("create", "by-static", 0, "static"), ("write", "by-static", 3, "static")], f"{ops}")


MAPPING = r"""
import mmap, sys
with open(sys.argv[1], "w+b") as file:
    file.truncate(16384)
    with mmap.mmap(file.fileno(), 16384) as m:
        m[0:5] = b"hello"
        m[8192:8197] = b"world"
        if len(sys.argv) > 2:
            print("mapped", flush=True); sys.stdin.readline()
"""


def check_mapping(audit):
    """The kernel writes, and does not say for whom."""
    audit.put("map.py", MAPPING)
    ops = audit.recorded("python3 map.py mapped")
    written = sum(op["bytes"] for op in ops if op["op"] == "write" and op["path"] == "mapped")
    expect(written >= 8192, f"{ops}")


def check_two_mappings(audit):
    """Two runs in one branch at once, each with a mapping of its own."""
    command = [*audit.command("run", "--branch", "two", "--", "python3", "map.py")]
    running = []
    for name in ("first", "second"):
        process = subprocess.Popen([*command, name, "wait"], cwd=audit.ws, env=audit.env, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        audit.scratch.watch(process.pid)
        expect(process.stdout.readline() == "mapped\n", "it does not run")
        running.append(process)
    audit.ok("snapshot", "create", "--branch", "two", "both")
    for process in running:
        process.communicate("\n", timeout=30)
    execs = {}
    for op in audit.ops():
        if op["branch"] == "two":
            execs.setdefault(op["path"], set()).add(op["exec"])
    expect(len(execs["first"]) == 1 and len(execs["second"]) == 1 and execs["first"] != execs["second"],
           f"{execs}")


def check_names(audit):
    names = ["it's", 'a "quote"', "new\nline", "'; DROP TABLE op_rows; --", "%s%n", "\udcff\udcfe", "-rf"]
    for name in names:
        with open(os.path.join(audit.ws, "names.txt"), "ab") as file:
            file.write(os.fsencode(name) + b"\0")
    ops = audit.recorded("mkdir n && cd n && xargs -0 touch -- < ../names.txt")
    told = set(paths(ops, "create"))
    expect({"n/" + name for name in names if "\udcff" not in name} <= told and len(told) == len(names), f"{told}")


def check_log(audit):
    """The versions of a file, each with the exec that made it, also where a directory above was renamed."""
    first = audit.recorded("mkdir -p v/d && echo 1 > v/d/f")[0]["exec"]
    second = audit.recorded("echo 22 > v/d/f; chmod 600 v/d")[0]["exec"]
    moved = audit.recorded("mv v/d v/e")[0]["exec"]
    back = audit.recorded("mv v/e v/d; touch v/d/other")[0]["exec"]
    gone = audit.recorded("rm -r v/d")[0]["exec"]

    def versions(path):
        told = json.loads(audit.ok("--json", "log", path))
        return [(each["exec"], each.get("size")) for each in reversed(told)]
    # One without a size is one that is not there.
    expect(versions("/v/d/f") == [(first, 2), (second, 3), (moved, None), (back, 3), (gone, None)],
           f"{versions('/v/d/f')}")
    expect(versions("/v/e/f") == [(moved, 3), (back, None)], f"{versions('/v/e/f')}")
    third = json.loads(audit.ok("--json", "log", "/v/d/f"))[-2]["ref"]
    audit.ok("restore", third, "/v/d/f")
    expect(audit.ok("fs", "cat", "/v/d/f") == "22\n", "the second version")


def check_levels(audit):
    before = len(audit.ops())
    audit.shell("echo x > silent", "--audit", "off")
    expect(len(audit.ops()) == before, f"{audit.ops()[before:]}")
    expect([op["op"] for op in audit.recorded("echo y > silent")] == ["truncate", "write"], "names are known")


def check_lost(audit):
    """A client that is killed leaves a row that ends, and nothing that goes on writing."""
    daemon = "setsid sh -c 'while :; do echo x >> ticks; done' &"
    process = audit.start(f"echo x > lost; ({daemon}) ; until [ -s ticks ]; do :; done; echo ready; sleep 60")
    expect(process.stdout.readline() == "ready\n", "it does not run")
    last = "SELECT id, state, status, signal, end_ns - start_ns AS took FROM execs ORDER BY id DESC LIMIT 1"
    running = rows(audit, last)[0]
    expect(running["state"] == "running" and running["took"] is None, f"{running}")
    process.kill()
    process.wait()
    await_true(lambda: rows(audit, last)[0]["state"] == "lost", "the end of its row")
    lost = rows(audit, last)[0]
    expect(lost["id"] == running["id"] and lost["status"] is None and lost["signal"] is None, f"{lost}")
    expect(lost["took"] > 0, f"{lost}")
    made = {op["path"]: op["exec"] for op in audit.ops() if op["op"] == "create"}
    expect(made["lost"] == made["ticks"] == lost["id"], f"{made}")
    before = audit.ok("fs", "cat", "/ticks")
    audit.shell("true")
    expect(audit.ok("fs", "cat", "/ticks") == before, "its descendants go on")


def check_replay(audit):
    """What all these programs did, done again with names alone, gives the names that there are."""
    unrecorded = [*os.listdir(audit.ws), "silent"]
    names = Names({name: False for name in unrecorded if name != ".agentfs"})
    names.apply(op for op in audit.ops() if op["branch"] == "main")
    there = names_there(audit)
    # What is in n has names that JSON cannot tell.
    differ = [name for name in names.kinds.keys() ^ there.keys() if not name.startswith("n/")]
    expect(not differ, f"recorded and not there, or the reverse: {sorted(differ)[:20]}")
    expect(len(there) > 150, f"{len(there)}")


def check_prune(audit):
    dropped = json.loads(audit.ok("--json", "audit", "prune", "--keep", "5"))["dropped"]
    ops = audit.ops()
    expect(dropped > 0 and len(ops) == 6 and ops[-1]["op"] == "dropped" and ops[-1]["bytes"] == dropped, f"{ops}")


def check_killed_server(audit):
    """What there is was recorded, and what was recorded is there."""
    process = audit.start("i=0; while :; do echo $i > k$i; i=$((i+1)); [ $i = 5000 ] && echo many; done")
    expect(process.stdout.readline() == "many\n", "it does not run")
    server = audit.server()
    os.kill(server, 9)
    process.kill()
    process.wait()
    await_true(lambda: audit.server() != server, "the server's end")
    ops = audit.ops()
    made = {op["path"] for op in ops if op["op"] == "create" and op["path"].startswith("k")}
    there = {name for name in audit.ok("fs", "ls", "/").split() if name.startswith("k")}
    expect(made == there and len(made) > 0, f"recorded {len(made)}, there are {len(there)}: {made ^ there}")
    written = {op["path"] for op in ops if op["op"] == "write" and op["path"] in made}
    for name in sorted(made)[:20] + sorted(made)[-5:]:
        content = audit.ok("fs", "cat", "/" + name)
        expect((name in written) == (content != ""), f"{name}: {content!r}")


DENIED = ["cat secret", "echo x > kept", "rm kept", "mv kept q", "ln kept l", "chmod 600 kept", "mv free secret",
          "head -c 200000 /dev/zero > big", "truncate -s 1G big"]


def check_denied(audit):
    """Attempts that rules and limits refuse, with their errno."""
    audit.ok("umount", "--all")
    for name in ("secret", "kept", "free"):
        audit.put(name, "text")
    audit.put(".agentfs/policy.toml", '[filesystem]\ndeny_read = ["/secret"]\ndeny_write = ["/kept"]\n')
    config = os.path.join(audit.ws, ".agentfs", "config.toml")
    with open(config, encoding="utf-8") as file:
        text = file.read()
    expect(text.count("max_file_bytes = 0") == 1, text)
    with open(config, "w", encoding="utf-8") as file:
        file.write(text.replace("max_file_bytes = 0", "max_file_bytes = 100000"))
    ops = audit.recorded("; ".join(f"( {each} ) 2>/dev/null && exit 1" for each in DENIED) + "; true")
    told = [(op["op"], op["path"], op.get("path2"), op["errno"]) for op in ops if op["errno"] != 0]
    denied, large = errno.EACCES, errno.EFBIG
    expect(told == [("open", "secret", None, denied), ("open", "kept", None, denied),
                    ("unlink", "kept", None, denied), ("rename", "kept", "q", denied), ("link", "kept", "l", denied),
                    ("setattr", "kept", None, denied), ("rename", "free", "secret", denied),
                    ("write", "big", None, large), ("truncate", "big", None, large)], f"{told}")


class Below:
    """A scratch directory in another one."""

    def __init__(self, scratch, name):
        self.scratch = scratch
        self.name = name

    def __getattr__(self, name):
        return getattr(self.scratch, name)

    def directory(self, name, _=None):
        return self.scratch.directory(f"{self.name}/{name}")


class UsersRuns(Runs):
    """Of an ordinary user."""

    def __init__(self, runs):
        super().__init__(Below(runs.scratch, "user"), runs.program)
        self.program = shutil.copy(runs.program, runs.scratch.path)
        self.env["PATH"] = "/usr/bin:/bin"
        for path in (self.ws, self.home, self.env["XDG_RUNTIME_DIR"]):
            os.chown(path, NOBODY, NOBODY)

    def call(self, *arguments, timeout=60, **options):
        return super().call(*arguments, timeout=timeout, **as_user(NOBODY), **options)


def check_user(runs):
    os.chmod(runs.scratch.path, 0o755)
    audit = Audit(UsersRuns(runs))
    with device_for_everybody():
        audit.ok("init")
        for check in (check_shell, check_daemon, check_mapping):
            check(audit)
        audit.end()


def run(runs):
    audit = Audit(runs)
    audit.ok("init")
    for check in (check_shell, check_tar, check_git, check_make, check_daemon, check_static, check_mapping,
                  check_two_mappings, check_names, check_log, check_levels, check_lost, check_replay, check_prune,
                  check_killed_server, check_denied):
        check(audit)
        print(check.__name__, "ok", flush=True)
    audit.end()
    if os.geteuid() == 0:
        check_user(runs)
        print("check_user ok")


shared.main(run, timeout=150)
