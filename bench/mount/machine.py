# SPDX-License-Identifier: Apache-2.0
"""Commands, mounts, processes, caches and facts of the machine that is measured."""
import ctypes
import os
import platform
import re
import shutil
import signal
import subprocess
import time

# Programs must behave alike for everybody: no settings of the user, one language.
ENVIRONMENT = {
    **os.environ,
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
MS_BIND = 4096
_libc = ctypes.CDLL(None, use_errno=True)
# What the workloads start; read back after the caches were dropped, so that no target pays for it.
TOOLS = ("git", "grep", "tar", "make", "sqlite3", "sh", "rm", "cp", "du")


class CommandFailed(Exception):
    """A command ended badly; the text has the end of what it said."""


def run(argv, stdin=None, timeout=300, accept=(0,), cwd=None):
    """stdout of a command; CommandFailed unless its status is one of `accept`."""
    done = subprocess.run(argv, input=stdin, env=ENVIRONMENT, cwd=cwd, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL if stdin is None else None)
    if done.returncode not in accept:
        said = done.stderr.decode(errors="replace").strip()[-400:]
        raise CommandFailed(f"{' '.join(argv[:6])}: status {done.returncode}: {said}")
    return done.stdout


def is_root():
    return os.geteuid() == 0


def mounts_below(directory):
    """Mount points in or below a directory, the innermost first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        points = [line.split(" ")[4] for line in table]
    points = [re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), point) for point in points]
    return [p for p in reversed(points) if p == directory or p.startswith(directory + "/")]


def bind(source, point):
    """mount --bind, without the time that a program takes to start."""
    if _libc.mount(os.fsencode(source), os.fsencode(point), None, MS_BIND, None) != 0:
        raise CommandFailed(f"bind {source}: {os.strerror(ctypes.get_errno())}")


def unmount_below(directory):
    for point in mounts_below(directory):
        helper = ["umount"] if is_root() else ["fusermount3", "-u"]
        plain = subprocess.run([*helper, point], capture_output=True, timeout=60, check=False)
        if plain.returncode:
            lazy = ["umount", "-f", "-l"] if is_root() else ["fusermount3", "-u", "-z"]
            subprocess.run([*lazy, point], capture_output=True, timeout=60, check=False)


def processes_about(directory):
    """Processes (not this one) that name something below `directory` among their arguments."""
    wanted, found = os.fsencode(directory), []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                arguments = file.read().split(b"\0")
            state = stat_of_process(entry)
        except OSError:
            continue
        if state != "Z" and any(wanted + b"/" in a + b"/" for a in arguments):
            found.append(int(entry))
    return found


def stat_of_process(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(") ")[2].split()[0]


def end_processes_about(directory, grace=10.0):
    """Ends servers of a target: asks first, insists after `grace` seconds."""
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        for pid in processes_about(directory):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        if wait_until(lambda: not processes_about(directory), patience):
            return


def wait_until(condition, seconds):
    """Whether `condition` came true in time."""
    deadline = time.monotonic() + seconds
    pause = 0.0005
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return True


def remove_tree(directory):
    """Everything below goes, whatever its permissions; mounts must have gone before."""
    if mounts_below(directory):
        raise RuntimeError(f"still mounted: {', '.join(mounts_below(directory))}")

    def retry(function, path, _):
        os.chmod(os.path.dirname(path), 0o700)
        os.chmod(path, 0o700, follow_symlinks=False) if not os.path.islink(path) else None
        function(path)

    if os.path.lexists(directory):
        shutil.rmtree(directory, onerror=retry)


def drop_caches():
    """Pages, dentries and inodes of the whole machine; needs root."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")
    for tool in filter(None, map(shutil.which, TOOLS)):
        with open(tool, "rb") as file:
            while file.read(1 << 20):
                pass
    run(["git", "--version"])


def disk_used(directory):
    """Bytes allocated below a directory, not counting what is mounted there."""
    return int(run(["du", "-sx", "--block-size=1", directory]).split()[0])


def version_of(program):
    """The first number that looks like a version in what it says about itself."""
    try:
        said = run([program, "--version"]).decode(errors="replace")
    except (CommandFailed, OSError):
        return "not there"
    found = re.search(rf"{program}\S*\s+(?:version:?\s+)?(\d[\w.+-]*)", said)
    return found[1] if found else said.split("\n", maxsplit=1)[0]


def fuse_uring():
    """Whether the kernel offers it: round trips cost much less than over the device."""
    try:
        with open("/sys/module/fuse/parameters/enable_uring", encoding="ascii") as file:
            if file.read().strip() == "Y":
                return "on"
            return "off but while root's agentfs mounts" if is_root() else "off"
    except OSError:
        return "not there"


def facts(scratch):
    """What somebody needs to judge the figures by."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = re.findall(r"model name\s*:\s*(.*)", file.read())
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory_kib = int(re.search(r"MemTotal:\s*(\d+)", file.read())[1])
    where = run(["df", "--output=source,fstype", scratch]).decode().splitlines()[1].split()
    return {
        "kernel": platform.release(),
        "processors": f"{os.cpu_count()} x {models[0] if models else platform.machine()}",
        "memory": f"{memory_kib / 2**20:.0f} GiB",
        "disk": " ".join(where),
        "load": f"{os.getloadavg()[0]:.1f}",
        "git": version_of("git"),
        "fuse-overlayfs": version_of("fuse-overlayfs"),
        "FUSE over io_uring": fuse_uring(),
        "user": "root" if is_root() else f"uid {os.geteuid()}",
    }
