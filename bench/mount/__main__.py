# SPDX-License-Identifier: Apache-2.0
"""Compares a mount of agentfs with the plain disk, overlayfs and fuse-overlayfs.

All targets show the same generated repository. Every workload runs on every target, interleaved,
and is reported as the median of the ratios to native within each repetition: what else the machine
does hits all alike. Results are checked: each target must have what native has.
"""
import argparse
import dataclasses
import fcntl
import json
import os
import signal
import sys

sys.dont_write_bytecode = True

import base
import branches
import machine
import measure
import message
import programs
import reading
import report
import repository as repositories
import sustained
import targets
import writing

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.normpath(f"{HERE}/../../build/release/bin/agentfs")
WORKLOADS = [*reading.WORKLOADS, *writing.WORKLOADS, *programs.WORKLOADS,
             *base.WORKLOADS]
SECTIONS = {"branches": branches, "snapshots": sustained, "message": message}


def arguments():
    parser = argparse.ArgumentParser(prog="bench/mount", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    scratch = os.environ.get("AGENTFS_BENCH_DIR", "/var/tmp") + "/agentfs-bench-mount"
    parser.add_argument("--scratch", default=scratch, metavar="DIR",
                        help="works here, on the disk to be measured (%(default)s): 8 GB")
    parser.add_argument("--program", default=PROGRAM, help="agentfs (%(default)s)")
    parser.add_argument("--targets", metavar="A,B", help=f"of {', '.join(targets.KINDS)}")
    parser.add_argument("--only", metavar="A,B", help="workloads whose names contain one of these")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it work at all?")
    parser.add_argument("--without-cold", action="store_true",
                        help="drops no caches, which would disturb the whole machine")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="writes all figures there")
    parser.add_argument("--merge", nargs="+", metavar="FILE",
                        help="measures nothing: reports what earlier runs wrote with --json")
    parser.add_argument("--list", action="store_true", help="what is measured")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args()


def wanted(name, options):
    return not options.only or any(part in name for part in options.only.split(","))


def choose_workloads(options):
    """Those asked for, and notes on what cannot be measured here."""
    chosen = [workload for workload in WORKLOADS if wanted(workload.name, options)]
    cold = [workload for workload in chosen if workload.cold]
    if cold and (options.without_cold or not machine.is_root()):
        why = "as asked for" if options.without_cold else "dropping caches needs root"
        left = ", ".join(workload.name for workload in cold)
        return [w for w in chosen if not w.cold], [f"left out, {why}: {left}"]
    return chosen, []


def goals_of(workloads):
    goals = {}
    for workload in workloads:
        if workload.goal:
            goals[workload.name] = dataclasses.asdict(workload.goal)
            if workload.bulk_goal:
                goals[workload.name]["bulk"] = dataclasses.asdict(workload.bulk_goal)
    return goals


def compare(options, run_directory, sizes):
    """One run; everything that it knows, as a document for JSON."""
    say = measure.progress(options.quiet)
    workloads, notes = choose_workloads(options)
    names = (options.targets or ",".join(targets.KINDS)).split(",")
    asked = options.targets is not None
    # Before the repository is made, which takes a while.
    targets.choose(names, asked, run_directory, None, options.program)
    say("the repository")
    repository = repositories.open_or_make(options.scratch, sizes)
    chosen, notices = targets.choose(names, asked, run_directory, repository, options.program)
    targets.try_each(chosen)
    facts = machine.facts(options.scratch)
    bench = measure.Bench(chosen, workloads, repository, sizes, say)
    sections, failed, interrupted = [], [], False
    try:
        if workloads:
            bench.repeat(options.repetitions)
        measure_sections(chosen, repository, sizes, options, say, sections, failed)
    except KeyboardInterrupt:
        interrupted = True
        notices.append("interrupted: this is what was measured until then")
    return {"facts": facts, "targets": [target.name for target in chosen],
            "sizes": dataclasses.asdict(sizes), "repetitions": options.repetitions,
            "repository": f"{len(repository.sources)} sources, {repository.mib} MiB with .git and "
                          f"three files of {sizes.big_mib} MiB",
            "goals": goals_of(workloads), **bench.results(), "sections": sections,
            "failed": failed, "notes": notes + notices, "interrupted": interrupted}


def measure_sections(chosen, repository, sizes, options, say, sections, failed):
    """Adds what is no workload; a failure of one is told and does not lose the rest."""
    for name, section in SECTIONS.items():
        if wanted(name, options):
            try:
                sections += section.measure(chosen, repository, sizes, options.repetitions, say)
            except (machine.CommandFailed, OSError) as error:
                failed.append(f"{name}: {error}")


def clean_up(run_directory):
    """Also after a failure: nothing stays mounted, running or on the disk."""
    machine.unmount_below(run_directory)
    machine.end_processes_about(run_directory)
    machine.unmount_below(run_directory)
    machine.remove_tree(run_directory)


def measured(options):
    options.scratch = os.path.realpath(options.scratch)
    os.makedirs(options.scratch, exist_ok=True)
    run_directory = f"{options.scratch}/run"
    with open(f"{options.scratch}/lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise targets.Unavailable(f"another run uses {options.scratch}") from None
        clean_up(run_directory)  # of a run that was killed
        try:
            return compare(options, run_directory,
                           repositories.QUICK if options.quick else repositories.FULL)
        finally:
            # A second Ctrl-C must not leave mounts behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            clean_up(run_directory)


def merged(files):
    documents = []
    for name in files:
        with open(name, encoding="utf-8") as file:
            documents.append(json.load(file))
    return report.merge(documents)


def stop(*_):
    raise KeyboardInterrupt


def main():
    options = arguments()
    if options.list:
        for workload in WORKLOADS:
            print(f"{workload.name}: {workload.about}")
        for name, section in SECTIONS.items():
            print(f"{name}: {section.ABOUT}")
        return 0
    signal.signal(signal.SIGTERM, stop)
    try:
        document = merged(options.merge) if options.merge else measured(options)
    except (targets.Unavailable, measure.Changed, ValueError) as error:
        print(f"bench-mount: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbench-mount: interrupted", file=sys.stderr)
        return 130
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    print(report.markdown(document))
    if document["interrupted"]:
        return 130
    return 1 if list(report.failures(document)) else 0


if __name__ == "__main__":
    sys.exit(main())
