#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the JSON of chevron-perf: time and bus bandwidth by size, chevron's algorithms and the peers.

    python3 bench/plot.py results.json -o perf.svg
"""

import argparse
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator  # noqa: E402

# One figure row for each combination of these that the file has.
GROUP = ("collective", "transport", "ranks", "element", "op", "in_place")

CHEVRON_COLOURS = {
    "auto": "#0b3d91",
    "one_shot_push": "#d1495b",
    "reduce_scatter_all_gather": "#2a9d8f",
    "reduce_scatter_all_gather_zero_copy": "#7b5ea7",
    "reduce_scatter_all_gather_push": "#00a6d6",
    "one_shot_pull": "#4c956c",
    "two_shot_push": "#f2a541",
}
PEER_STYLES = {
    "openmpi": ("#e07a1f", "s"),
    "mpich": ("#8a6d3b", "^"),
    "gloo": ("#7f7f7f", "D"),
    "nccl": ("#76b900", "s"),
    "nccl_symmetric": ("#3f7a00", "^"),
}


def size_text(value, _position=None):
    """4096 as 4K."""
    for unit in ("", "K", "M", "G"):
        if value < 1024 or unit == "G":
            return f"{value:g}{unit}"
        value /= 1024


def time_text(value, _position=None):
    """Microseconds, and milliseconds where those read better."""
    return f"{value / 1000:g} ms" if value >= 1000 else f"{value:g} µs"


def groups_of(rows):
    """The rows of each group, in the file's order."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in GROUP), []).append(row)
    return groups


def bus_bandwidth(size_bytes, time_us, ranks):
    return size_bytes / time_us * 1e-3 * 2 * (ranks - 1) / ranks


def series_of(rows):
    """Lines to draw: name -> (sizes, medians, minima, maxima, is a peer).

    A peer has been measured once for all algorithms of a size, so its first figure is its only one.
    """
    points = {}
    for row in rows:
        points.setdefault((row["requested"], False), {})[row["bytes"]] = row["time_us"]
        for name, times in row["peers"].items():
            points.setdefault((name, True), {}).setdefault(row["bytes"], times)
    series = {}
    for (name, is_peer), by_size in points.items():
        sizes = np.array(sorted(by_size))
        columns = [np.array([by_size[size][key] for size in sizes]) for key in ("median", "min", "max")]
        series[name] = (sizes, *columns, is_peer)
    return series


def style_of(name, is_peer):
    if is_peer:
        colour, marker = PEER_STYLES.get(name, ("#444444", "v"))
        return {"color": colour, "marker": marker, "linestyle": "--", "linewidth": 1.2, "markersize": 4}
    bold = name == "auto"
    return {
        "color": CHEVRON_COLOURS.get(name, "#111111"),
        "marker": "o",
        "linestyle": "-",
        "linewidth": 2.2 if bold else 1.3,
        "markersize": 4.5 if bold else 3.5,
        "zorder": 3 if bold else 2.5,
    }


def label_of(name, is_peer, versions):
    if is_peer:
        return versions.get(name, name)
    return "chevron" if name == "auto" else "chevron, " + name.replace("_", " ")


def prepare(axes, title, y_label):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=20))
    axes.xaxis.set_major_formatter(FuncFormatter(size_text))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.set_xlabel("size per rank (bytes)")
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_group(key, rows, time_axes, bandwidth_axes, versions):
    about = dict(zip(GROUP, key))
    what = (
        f"{about['collective']} of {about['element']}, {about['op']}, "
        f"{'in place' if about['in_place'] else 'out of place'}; {about['ranks']} ranks, {about['transport']}"
    )
    prepare(time_axes, "time: " + what, "time per call")
    prepare(bandwidth_axes, "bus bandwidth", "GB/s")
    time_axes.yaxis.set_major_formatter(FuncFormatter(time_text))
    bandwidth_axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for name, (sizes, medians, minima, _maxima, is_peer) in series_of(rows).items():
        style = style_of(name, is_peer)
        time_axes.plot(sizes, medians, label=label_of(name, is_peer, versions), **style)
        if not is_peer:
            # Down to the fastest batch only: the slowest one tells of the machine's other work.
            time_axes.fill_between(sizes, minima, medians, color=style["color"], alpha=0.12, linewidth=0)
        bandwidth_axes.plot(sizes, bus_bandwidth(sizes, medians, about["ranks"]), **style)
    time_axes.legend(fontsize=8, frameon=False, loc="upper left")


def chosen(rows, arguments):
    """The rows that the command line leaves."""
    wanted = {
        "transport": arguments.transport,
        "ranks": arguments.ranks,
        "element": arguments.element,
        "op": arguments.op,
        "in_place": arguments.in_place,
    }
    return [row for row in rows if all(value is None or row[key] == value for key, value in wanted.items())]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="a file that chevron-perf wrote with --json")
    parser.add_argument("-o", "--output", default="perf.svg", help="an .svg, .png or .pdf (default: perf.svg)")
    parser.add_argument("--transport", help="only this transport")
    parser.add_argument("--ranks", type=int, help="only this rank count")
    parser.add_argument("--element", help="only this element")
    parser.add_argument("--op", help="only this operation")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--in-place", action="store_true", default=None, help="only in place")
    place.add_argument("--out-of-place", dest="in_place", action="store_false", help="only out of place")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    with open(arguments.results, encoding="utf-8") as file:
        results = json.load(file)
    groups = groups_of(chosen(results["rows"], arguments))
    if not groups:
        print("plot.py: no rows to draw", file=sys.stderr)
        return 1
    figure, axes = plt.subplots(
        len(groups), 2, figsize=(12, 4.6 * len(groups)), squeeze=False, layout="constrained"
    )
    for (key, rows), (time_axes, bandwidth_axes) in zip(groups.items(), axes):
        draw_group(key, rows, time_axes, bandwidth_axes, results.get("peers", {}))
    machine = results["machine"]
    figure.suptitle(
        f"chevron {machine['chevron']} on {machine['cpu']}, {machine['cores']} cores; "
        f"{machine['compiler']}; {machine['date'][:10]}",
        fontsize=11,
    )
    figure.savefig(arguments.output, dpi=150, metadata={"Date": None} if arguments.output.endswith(".svg") else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
