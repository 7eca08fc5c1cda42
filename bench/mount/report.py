# SPDX-License-Identifier: Apache-2.0
"""Results as Markdown, and what they say about the goals."""

OURS = ("agentfs", "agentfs-bulk")


def time_text(seconds):
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.3g}"


def verdict(ratio, goal):
    if ratio is None or goal is None:
        return ""
    if ratio <= goal["aim"]:
        return "yes, aim"
    return "yes" if ratio <= goal["must"] else "**no**"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def ratio_text(cell):
    if cell is None:
        return ""
    if "error" in cell:
        return "failed"
    if "ratio" not in cell:
        return ""
    spread = " ~" if cell["ratio_max"] > 2 * cell["ratio_min"] else ""
    return number(cell["ratio"]) + spread


def workload_rows(document, names):
    for workload, row in document["workloads"].items():
        goal = document["goals"].get(workload)
        native = row.get("native", {})
        if not any(cell["seconds"] or "error" in cell for cell in row.values()):
            continue  # not reached
        line = [workload, time_text(native["median"]) if "median" in native else "failed"]
        line += [ratio_text(row.get(name)) for name in names]
        line += [f"{number(goal['must'])} / {number(goal['aim'])}" if goal else ""]
        line += [goal_text(row, goal)]
        yield line


def goal_text(row, goal):
    """Met by the default profile; the bulk profile is named where it has a goal of its own."""
    text = verdict(row.get("agentfs", {}).get("ratio"), goal)
    bulk = row.get("agentfs-bulk", {}).get("ratio")
    if goal and goal.get("bulk") and bulk is not None:
        text += f"; bulk {number(goal['bulk']['must'])}: {verdict(bulk, goal['bulk'])}"
    return text


def disk_rows(document, names):
    total = dict.fromkeys(names, 0)
    for workload, row in document["workloads"].items():
        if all("grown" in row.get(name, {}) for name in names):
            for name in names:
                total[name] += row[name]["grown"]
            yield [workload, *(f"{row[name]['grown'] / 2**20:.1f}" for name in names)]
    if total["native"]:
        yield ["**all**", *(f"{total[name] / 2**20:.1f} ({total[name] / total['native']:.2f}x)"
                            for name in names)]


def message_rows(document, names):
    for workload, row in document["workloads"].items():
        cells = [row.get(name, {}) for name in names]
        if not any(cell.get("messages") and cell.get("operations") for cell in cells):
            continue
        line = [workload, str(cells[0].get("operations", ""))]
        for cell in cells:
            counts = sorted((cell.get("messages") or {}).items(), key=lambda item: -item[1])[:5]
            operations = cell.get("operations") or 1
            total = sum((cell.get("messages") or {}).values()) / operations
            parts = ", ".join(f"{name} {count / operations:.2g}" for name, count in counts)
            line.append(f"{total:.2f}: {parts}" if counts else "none")
        yield line


def extra_rows(section):
    for row in section["rows"]:
        yield [row["what"], *(row["values"].get(name, "") for name in section["columns"]),
               row.get("goal", ""), row.get("met", "")]


def failures(document):
    for workload, row in document["workloads"].items():
        for name, cell in row.items():
            if "error" in cell:
                yield f"{workload}, {name}: {cell['error']}"
    yield from document.get("failed", [])
    for name, same in document.get("kept", {}).items():
        if not same:
            yield f"{name}: the tree after a new mount is not what native has"


def markdown(document):
    names = document["targets"]
    facts = "; ".join(f"{key} {value}" for key, value in document["facts"].items())
    text = [f"Ratios to native, medians of {document['repetitions']} interleaved repetitions "
            f"(`~`: they spread over more than twofold). {document['repository']}. {facts}.\n"]
    others = [name for name in names if name != "native"]
    if document["workloads"]:
        text.append(table(["workload", "native", *others, "must / aim", "met"],
                          list(workload_rows(document, others))))
    disk = list(disk_rows(document, names))
    if disk:
        text += ["Growth on disk, MiB (goal: 1.1x native's, aim 1.0x):\n",
                 table(["workload", *names], disk)]
    ours = [name for name in names if name in OURS]
    messages = list(message_rows(document, ours)) if ours else []
    if messages:
        text += ["Messages of the kernel for each operation of a workload:\n",
                 table(["workload", "operations", *ours], messages)]
    for section in document.get("sections", []):
        text += [section["title"] + "\n",
                 table(["", *section["columns"], "must / aim", "met"], list(extra_rows(section)))]
    notes = [*document.get("notes", []), *failures(document)]
    if notes:
        text.append("\n".join(f"- {note}" for note in notes) + "\n")
    return "\n".join(text)


def merge(documents):
    """Pieces of one table, each measured by a run of its own."""
    whole = documents[0]
    for piece in documents[1:]:
        for key in ("targets", "sizes"):
            if piece[key] != whole[key]:
                raise ValueError(f"the pieces differ in their {key}: {piece[key]}, {whole[key]}")
        whole["workloads"].update(piece["workloads"])
        whole["goals"].update(piece["goals"])
        whole["sections"] += piece["sections"]
        whole["failed"] += piece["failed"]
        whole["interrupted"] = whole["interrupted"] or piece["interrupted"]
        whole["notes"] += [note for note in piece["notes"] if note not in whole["notes"]]
        whole["repetitions"] = min(whole["repetitions"], piece["repetitions"])
        for name, same in piece["kept"].items():
            whole["kept"][name] = whole["kept"].get(name, True) and same
    return whole
