# SPDX-License-Identifier: Apache-2.0
"""run on a terminal, as a person uses it: an interactive shell with job control, Ctrl-C, Ctrl-Z and
fg, the window's size, a full-screen program."""
import os
import shutil
import subprocess
import sys

import runs as shared
from runs import as_user, await_true, expect


class Terminal:
    """A window of tmux with a shell in it, which finds the program by its name: how a typed line
    wraps must not depend on where the program lies.
    """

    def __init__(self, runs):
        path = os.path.dirname(os.path.abspath(runs.program)) + ":" + os.environ["PATH"]
        self.socket = f"{runs.home}/tmux"
        self.user = as_user(runs.user)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", runs.ws,
                  "env", f"HOME={runs.home}", f"XDG_RUNTIME_DIR={runs.env['XDG_RUNTIME_DIR']}",
                  f"PATH={path}", "PS1=outside> ", "bash", "--norc", "--noprofile", env=runs.env)

    def tmux(self, *arguments, **options):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], check=True, text=True,
                              capture_output=True, timeout=20, **self.user, **options).stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def line(self, text):
        self.tmux("send-keys", "-l", text)
        self.type("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, text):
        try:
            await_true(lambda: text in self.screen(), text)
        except shared.Failed:
            print(self.screen(), file=sys.stderr)
            raise

    def clear(self):
        self.line("clear")
        await_true(lambda: self.screen().strip().count("\n") == 0, "an empty screen")

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False,
                       capture_output=True, **self.user)


def run_shell(terminal):
    terminal.line("agentfs run -- env PS1='inside> ' bash --norc --noprofile")
    terminal.wait_for("\ninside>")
    expect("job control" not in terminal.screen(), terminal.screen())
    terminal.line("sh -c 'echo sle\"\"eping; exec sleep 1000'")
    terminal.wait_for("\nsleeping")
    terminal.type("C-c")
    terminal.line("echo interrupted $?")
    terminal.wait_for("interrupted 130")
    terminal.line("sh -c 'echo sle\"\"eping again; exec sleep 1000'")
    terminal.wait_for("\nsleeping again")
    terminal.type("C-z")
    terminal.wait_for("Stopped")
    terminal.line("jobs; kill %1; echo back-$((40+2))")
    terminal.wait_for("back-42")
    terminal.line("echo x > made; exit 3")
    terminal.wait_for("A /made")
    terminal.line("echo status $?")
    terminal.wait_for("status 3")
    terminal.clear()


def run_interrupted(terminal):
    terminal.line("agentfs --quiet run -- sh -c 'trap \"echo caught; exit 5\" INT; echo re\"\"ady;"
                  " while :; do sleep 0.05; done'")
    terminal.wait_for("\nready")
    terminal.type("C-c")
    terminal.wait_for("^Ccaught")
    terminal.line("echo status $?")
    terminal.wait_for("status 5")
    terminal.line("agentfs --quiet run -- sh -c 'echo re\"\"ady again; exec sleep 1000'")
    terminal.wait_for("\nready again")
    terminal.type("C-c")
    terminal.line("echo status $?")
    terminal.wait_for("status 130")
    terminal.clear()


def run_stopped(terminal):
    terminal.line("agentfs --quiet run -- sh -c 'echo re\"\"ady; read line; echo got $line'")
    terminal.wait_for("\nready")
    terminal.type("C-z")
    terminal.wait_for("Stopped")
    terminal.line("echo outside-$((40+2))")
    terminal.wait_for("outside-42")
    terminal.line("fg")
    terminal.line("hello")
    terminal.wait_for("got hello")
    terminal.clear()


def run_full_screen(terminal):
    terminal.line("agentfs --quiet run -- vi made-by-vi")
    terminal.wait_for("~")
    terminal.type("i")
    terminal.tmux("send-keys", "-l", "typed here")
    terminal.type("Escape")
    terminal.tmux("resize-window", "-x", "100", "-y", "30")
    terminal.line(":wq")
    terminal.wait_for("outside>")
    terminal.clear()
    terminal.line("agentfs --quiet run -- sh -c 'cat made-by-vi; stty size'")
    terminal.wait_for("typed here\n30 100")
    terminal.line("agentfs --quiet run -- sh -c 'trap \"stty size\" WINCH; echo wai\"\"ting;"
                  " while :; do sleep 0.05; done'")
    terminal.wait_for("\nwaiting")
    terminal.tmux("resize-window", "-x", "90", "-y", "25")
    terminal.wait_for("25 90")
    terminal.type("C-c")


def run(runs):
    if shutil.which("tmux") is None:
        print("skipped: there is no tmux here")
        return 77
    runs.put("f", "base\n")
    runs.ok("init")
    terminal = Terminal(runs)
    try:
        terminal.wait_for("outside>")
        for part in (run_shell, run_interrupted, run_stopped, run_full_screen):
            part(terminal)
    finally:
        terminal.end()
    return 0


shared.main(run)
