"""Traces, pictures and the command `heddle timeline`."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from envs import Evaluator, subject_of, untuned
from envs.timeline import Timeline
from trainer.command.main import heddle
from trainer.timeline.chrome_trace import chrome_trace
from trainer.timeline.picture import Window, draw_window


@pytest.fixture(scope="module")
def recorded() -> Timeline:
    """Record IC3 on four cores of the engine, with waits, publications and retries."""
    evaluator = Evaluator({"name": "tpcc"}, 4, machine={"kind": "virtual"})
    subject = subject_of("ic3", evaluator.signature, untuned)
    timeline = evaluator.record(subject, 0.0004, warmup=0.0005, seed=1, events=1_000_000)
    evaluator.close()
    return timeline


def slices(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event["ph"] == "X"]


def test_slices_of_a_track_nest(recorded: Timeline) -> None:
    """Viewers drop or misdraw slices that overlap without nesting."""
    by_core = defaultdict(list)
    for event in slices(chrome_trace(recorded, "test")):
        # Viewers truncate times to nanoseconds.
        by_core[event["tid"]].append((int(event["ts"] * 1000), int(event["dur"] * 1000)))
    assert sorted(by_core) == [0, 1, 2, 3]
    for events in by_core.values():
        open_until: list[int] = []
        for begin, duration in sorted(events, key=lambda event: (event[0], -event[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            if open_until:
                assert begin + duration <= open_until[-1]
            open_until.append(begin + duration)


def test_every_event_is_in_the_trace(recorded: Timeline) -> None:
    document = chrome_trace(recorded, "test")
    by_kind = defaultdict(list)
    for event in slices(document):
        by_kind[event["cat"]].append(event)
    assert len(by_kind["attempt"]) == len(recorded.attempts)
    accesses = [x for a in recorded.attempts for x in a.accesses if x.end >= 0]
    waits = [w for a in recorded.attempts for w in a.waits if w.end >= 0]
    assert len(by_kind["access"]) == len(accesses)
    assert len(by_kind["wait"]) == len(waits)
    points = [e["name"] for e in document["traceEvents"] if e["ph"] == "i"]
    assert points.count("commit") == sum(a.outcome == "commit" for a in recorded.attempts)
    assert points.count("publish") == sum(
        bool(p.published) and p.time >= 0 for a in recorded.attempts for p in a.points
    )
    told = [e["args"] for e in by_kind["wait"] if e["args"]["until"] in ("access", "end")]
    assert any(args["state"].startswith("new_order.") for args in told)
    assert all("#" in args["blocker"] for args in told)
    names = [e for e in document["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"]
    assert [e["args"]["name"] for e in names] == [f"core {core}" for core in range(4)]


def test_every_arrow_joins_two_slices(recorded: Timeline) -> None:
    document = chrome_trace(recorded, "test")
    attempts = [(a.core, a.begin / 1000, a.end / 1000) for a in recorded.attempts]
    ends: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for event in document["traceEvents"]:
        if event["ph"] in "sf":
            ends[event["id"]][event["ph"]] = event
    dependencies = sum(
        d.attempt is not None and d.time >= 0 for a in recorded.attempts for d in a.dependencies
    )
    arrows = [pair for pair in ends.values() if pair["s"]["cat"] == "dependency"]
    assert len(arrows) == dependencies > 0
    for pair in ends.values():
        assert set(pair) == {"s", "f"}
        assert pair["s"]["ts"] <= pair["f"]["ts"] + 0.2, "the skew, in µs"
        source, target = (
            next(
                a
                for a in attempts
                if a[0] == end["tid"] and a[1] <= end["ts"] + 0.001 <= a[2] + 0.002
            )
            for end in (pair["s"], pair["f"])
        )
        assert source != target


@pytest.mark.parametrize("ending", ["png", "svg"])
@pytest.mark.slow
def test_a_picture_of_a_window(recorded: Timeline, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"window.{ending}"
    draw_window(recorded, Window(0, 30, [0, 1, 3]), "ic3", path)
    assert path.stat().st_size > 10_000
    if ending == "svg":
        text = path.read_text()
        for words in ("core 3", "payment", "waits", "virtual time"):
            assert f"<!-- {words}" in text


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, ["timeline", *words])


@pytest.mark.slow
def test_the_command_writes_the_reported_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ("machine.cores=2", "seconds=0.0001", "warmup=0")
    done = run("policy=occ", *short, "output=a.json", "picture=a.png")
    assert done.exit_code == 0, done.output
    assert "transactions ended" in done.output
    assert "trace: a.json" in done.output
    assert (tmp_path / "a.png").stat().st_size > 10_000
    first = (tmp_path / "a.json").read_bytes()
    assert json.loads(first)["otherData"]["dropped"] == 0
    assert run("policy=occ", *short, "output=b.json").exit_code == 0
    assert (tmp_path / "b.json").read_bytes() == first, "the same run, to the bit"
    done = run("policy=occ", *short, "output=b.json", "events=20")
    assert "because it reached events=" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("machine=threads",), "are recorded on virtual cores only"),
        (("policy=sill",), "did you mean silo?"),
        (("policy=silo_tuned",), "record silo instead"),
        (("output=nowhere/t.json",), "output=nowhere/t.json: there is no directory nowhere"),
        (("picture=nowhere/p.png",), "picture=nowhere/p.png: there is no directory nowhere"),
        (("picture=p.gif",), "must end in .png, .svg, .pdf"),
        (("from_us=30",), "the window is empty"),
        (("picture=p.png", "from_us=3000", "until_us=3020"), "the recording ends at"),
        (("picture=p.png", "output=p.png"), "is also output="),
        (("draw_cores=[0,0]",), "each once"),
        (("until_us=inf",), "until_us=inf: must be a number"),
        (("seconds=nan",), "seconds=nan: must be a number"),
        (("draw_cores=[0,8]",), "must be some of the cores 0 to 7"),
        (("draw_cores=[]",), "must be some of the cores 0 to 7"),
        (("events=0",), "events=0: must be at least 1"),
        (("events=6000000",), "events=6000000: must be at most 2000000"),
        (("seconds=0",), "seconds=0.0: must be above 0"),
        (("machine.cores=257",), "must be at most 256"),
    ],
)
def test_mistakes_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.output
    assert not list(tmp_path.iterdir())
