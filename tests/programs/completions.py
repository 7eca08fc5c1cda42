# SPDX-License-Identifier: Apache-2.0
"""completions.py PROGRAM: the scripts of `agentfs completion`, in the shells that they are for."""
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

PLACES = {"agentfs snap": "snapshot", "agentfs snapshot cr": "create", "agentfs run --no-": "--no-net",
          "agentfs fs chm": "chmod", "agentfs diff --branch ot": "other"}


def bash(_, line):
    words = line.split()
    text = (f"source <(agentfs completion bash); COMP_WORDS=({' '.join(words)});"
            f" COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}};"
            " eval \"$(complete -p agentfs | sed 's/.*-F \\([^ ]*\\).*/\\1/')\" agentfs"
            f" '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True,
                          check=True).stdout


def fish(_, line):
    return subprocess.run(["fish", "--no-config", "-c",
                           f"agentfs completion fish | source; complete -C '{line}'"],
                          capture_output=True, text=True, check=True).stdout


def zsh(directory, line):
    """An interactive zsh, at whose prompt the line is typed, and a tab."""
    with open(f"{directory}/_agentfs", "wb") as script:
        subprocess.run(["agentfs", "completion", "zsh"], stdout=script, check=True)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("zsh", ["zsh", "-f", "-i"])

    def read_until(text):
        shown, deadline = b"", time.monotonic() + 10
        while text not in shown and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.5)[0]:
                shown += os.read(terminal, 4096).replace(b"\a", b"")
        return shown
    try:
        os.write(terminal, f"fpath=({directory} $fpath); autoload -Uz compinit; compinit -u -D;"
                           "PROMPT='re''ady '\n".encode())
        read_until(b"ready ")
        os.write(terminal, f"{line}\t".encode())
        wanted = PLACES[line].encode()
        return read_until(line.rsplit(" ", 1)[0].encode() + b" " + wanted).decode()
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def main(program):
    status = 0
    with tempfile.TemporaryDirectory(prefix="agentfs-completions-") as directory:
        os.environ |= {"PATH": f"{os.path.dirname(os.path.abspath(program))}:{os.environ['PATH']}",
                       "HOME": directory, "TERM": "dumb", "XDG_CONFIG_HOME": directory}
        os.chdir(directory)
        subprocess.run([program, "--quiet", "init"], check=True)
        subprocess.run([program, "branch", "create", "other"], check=True, capture_output=True)
        for shell in (bash, fish, zsh):
            if shutil.which(shell.__name__) is None:
                print(f"not in {shell.__name__}: it is not here")
                continue
            for line, wanted in PLACES.items():
                shown = shell(directory, line)
                if wanted not in shown:
                    print(f"{shell.__name__}: {line!r} gives {shown!r}", file=sys.stderr)
                    status = 1
    return status


sys.exit(main(sys.argv[1]))
