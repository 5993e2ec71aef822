r"""Draw throughput over the number of cores, TPC-C with one warehouse, for README.md.

The left panel is of virtual cores. Their figures are the same on every machine:

    heddle evaluate machine=virtual machine.cores=1,2,4,8,16,24,32,48 workload.warehouses=1 \
        policy=silo,silo_tuned,two_phase_locking,occ,ic3,$tables \
        seed=1001 run.repeats=3 output=FOLDER
    python docs/pictures/throughput_over_cores.py FOLDER/transfer.json

`tables` is tpcc_1_warehouse_16_virtual_cores,tpcc_1_warehouse_48_virtual_cores. The right panel is
of real cores: real_cores.csv has the figures of README.md, whose section "Results" has the
commands. Each point of the baselines is the best baseline at that number of cores.
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent
PICTURE = FOLDER / "throughput-over-cores.png"
LEARNED_16 = "tpcc_1_warehouse_16_virtual_cores"
LEARNED_48 = "tpcc_1_warehouse_48_virtual_cores"
BASELINE = "best baseline"
CORES = [1, 2, 4, 8, 16, 32, 48]
"""The ticks; one at 24 would touch its neighbours."""

Curves = dict[str, dict[int, float]]
"""By name: thousand commits per second by the number of cores."""


@dataclass(frozen=True)
class Look:
    """How a curve is drawn, and where its name is: cores, thousand commits per second."""

    colour: str
    marker: str
    label: str
    place: tuple[float, float]


# Colours of Okabe and Ito, which differ for colour-blind readers and in luminance.
LOOKS = {
    LEARNED_16: Look("#0072B2", "o", "learned on\n16 virtual cores", (2.1, 640)),
    LEARNED_48: Look("#00805C", "^", "learned on\n48 virtual cores", (14, 465)),
    BASELINE: Look("#B04A00", "s", BASELINE, (9, 235)),
}


def read_virtual(path: Path) -> Curves:
    """Return the curves of a transfer matrix."""
    measured = {
        column["cores"]: {
            row["policy"]: row["throughput"] / 1000 for row in column["comparison"]["results"]
        }
        for column in json.loads(path.read_text(encoding="utf-8"))["columns"]
    }
    return curves(measured)


def read_real(path: Path) -> Curves:
    """Return the curves of a CSV file: a row per number of cores, a column per policy."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    measured = {
        int(row["cores"]): {
            name: float(text) for name, text in row.items() if name != "cores" and text
        }
        for row in rows
    }
    return curves(measured)


def curves(measured: dict[int, dict[str, float]]) -> Curves:
    """Return the learned tables' curves, and the maximum of the other policies."""
    found: Curves = {name: {} for name in LOOKS}
    for cores, throughput in measured.items():
        for name in (LEARNED_16, LEARNED_48):
            if name in throughput:
                found[name][cores] = throughput[name]
        found[BASELINE][cores] = max(
            value for name, value in throughput.items() if name not in LOOKS
        )
    return found


def draw(axes: Axes, found: Curves, title: str, *, real: bool) -> None:
    """Draw a panel: solid lines and filled marks for real cores, dashed and hollow otherwise."""
    background = "white" if real else "#f3f3f3"
    for name, look in LOOKS.items():
        if not found[name]:
            continue
        axes.plot(
            list(found[name]),
            list(found[name].values()),
            color=look.colour,
            linestyle="-" if real else (0, (4, 1.5)),
            linewidth=2.5,
            marker=look.marker,
            markersize=7,
            markerfacecolor=look.colour if real else "white",
            markeredgewidth=2,
        )
        axes.text(
            *look.place,
            look.label,
            color=look.colour,
            ha="center",
            va="center",
            weight="bold",
            fontsize=12,
            bbox={"facecolor": background, "edgecolor": "none", "pad": 0.5},
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(CORES, [str(count) for count in CORES])
    axes.set_xlim(0.82, 58)
    axes.minorticks_off()
    axes.set_xlabel("real cores" if real else "virtual cores")
    axes.set_title(title, weight="bold", fontsize=14)
    axes.set_facecolor(background)
    axes.grid(axis="y", alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw the picture from the transfer matrix that the command line names."""
    figure = Figure(figsize=(8.4, 4), layout="constrained", facecolor="white")
    virtual, real = figure.subplots(1, 2, sharey=True)
    draw(virtual, read_virtual(Path(sys.argv[1])), "virtual cores (simulated)", real=False)
    draw(real, read_real(FOLDER / "real_cores.csv"), "real cores", real=True)
    virtual.set_ylim(0, 750)
    virtual.set_ylabel("thousand commits per second")
    figure.savefig(PICTURE, dpi=140)


if __name__ == "__main__":
    from matplotlib import rc_context

    with rc_context({"font.size": 13}):
        main()
