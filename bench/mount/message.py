# SPDX-License-Identifier: Apache-2.0
"""What one message to a server takes, which nothing that the server does can go below."""
import errno
import os
import statistics
import time

import machine
import measure as measuring

ABOUT = "the time of one message: asking for an attribute that a file does not have"
TIMES = 20_000


def ask(root):
    """Seconds. Nobody keeps that an attribute is not there, so every call is a message."""
    fd = os.open(f"{root}/README.md", os.O_RDONLY)
    started = time.perf_counter()
    for _ in range(TIMES):
        try:
            os.getxattr(fd, "user.absent")
            raise AssertionError("README.md has an attribute that was not set")
        except OSError as error:
            if error.errno != errno.ENODATA:
                raise
    return (time.perf_counter() - started) / TIMES


def taken(target):
    outcome = measuring.isolated(lambda: ask(target.root))
    if "error" in outcome:
        raise machine.CommandFailed(f"{target.name}: {outcome['error']}")
    return outcome["value"]


def measure(chosen, repository, sizes, repetitions, say):
    """Less what native takes for the same call, within each repetition."""
    more = {target.name: [] for target in chosen if target.name != "native"}
    if not more:
        return []
    for target in chosen:
        target.fresh()
    for repetition in range(repetitions):
        say(f"repetition {repetition + 1} of {repetitions}: one message")
        seconds = {target.name: taken(target) for target in chosen}
        for name, values in more.items():
            values.append(seconds[name] - seconds["native"])
    for target in chosen:
        target.remove()
    values = {name: f"{statistics.median(of) * 1e6:.1f} us" for name, of in more.items()}
    return [{"title": "One message to the server and back:", "columns": list(more),
             "rows": [{"what": "getxattr of an absent attribute", "values": values}]}]
