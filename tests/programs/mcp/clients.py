# SPDX-License-Identifier: Apache-2.0
"""agentfs mcp with clients that others wrote: the SDK of the protocol (sdk_client.mjs) and the
command line of its Inspector, both from npm."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runs"))
import runs as shared  # noqa: E402
from runs import expect  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["@modelcontextprotocol/sdk@1", "@modelcontextprotocol/inspector-cli@1"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def install(runs):
    """A directory with the packages, for both clients."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            skip(f"there is no {program}")
    place = runs.scratch.directory("packages")
    with open(os.path.join(place, "package.json"), "w", encoding="ascii") as file:
        json.dump({"private": True, "type": "module"}, file)
    done = subprocess.run(["npm", "install", "--prefer-offline", "--no-package-lock",
                           "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
                           "--loglevel=error", *PACKAGES],
                          cwd=place, capture_output=True, text=True, timeout=80, check=False)
    if done.returncode != 0:
        skip(f"npm cannot install {' and '.join(PACKAGES)}: {done.stderr.strip()[-400:]}")
    return place


def sdk(runs, packages):
    script = shutil.copy(os.path.join(HERE, "sdk_client.mjs"), packages)
    done = subprocess.run(["node", script, runs.program, runs.ws], cwd=packages, env=runs.env,
                          capture_output=True, text=True, timeout=60, check=False)
    expect(done.returncode == 0, f"the SDK's client: {done.stdout}{done.stderr}")
    print(done.stdout, end="")


def inspector(runs, packages):
    # It looks for this above its own current directory to know how it was installed.
    with open(os.path.join(runs.ws, "..", "package.json"), "w", encoding="ascii") as file:
        file.write("{}")
    program = os.path.join(packages, "node_modules", ".bin", "mcp-inspector-cli")

    def inspect(*arguments):
        done = subprocess.run([program, "--cli", runs.program, "mcp", "--method", *arguments],
                              cwd=runs.ws, env=runs.env, capture_output=True, text=True, timeout=60,
                              check=False)
        expect(done.returncode == 0, f"the Inspector, {arguments}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    questions = (["tools/list"], ["resources/list"],
                 ["tools/call", "--tool-name", "read_text_file", "--tool-arg", "path=/README.md"])
    # Starting it takes most of the time.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        tools, resources, read = pool.map(lambda words: inspect(*words), questions)
    names = [tool["name"] for tool in tools["tools"]]
    expect("read_text_file" in names and "branch_switch" in names, names)
    expect(read["structuredContent"]["content"] == "# project\n", read)
    uris = [each["uri"] for each in resources["resources"]]
    expect(f"file://{runs.ws}/README.md" in uris, uris)


def run(runs):
    packages = install(runs)
    runs.put("README.md", "# project\n")
    runs.put("src/a.txt", "".join(f"line {i}\n" for i in range(10)))
    runs.put("src/logo.png", "not really")
    runs.ok("init")
    sdk(runs, packages)
    expect(sorted(os.listdir(f"{runs.ws}/src")) == ["a.txt", "logo.png"], "the base was changed")
    inspector(runs, packages)


shared.main(run, timeout=170)
