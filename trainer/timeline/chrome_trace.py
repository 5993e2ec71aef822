"""A timeline in the trace format of Perfetto and Chrome: one track per core.

The format is the JSON one of the "Trace Event Format" document: complete slices (`X`), instants
(`i`), flow arrows (`s`, `f`) and names of tracks (`M`), with times in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envs.timeline import Access, Attempt, Timeline, Wait

PROCESS = 1
_INSIDE_NS = 1
"""An arrow is attached to the slice at its time; the end of a slice does not belong to it."""
_BIAS_NS = 1e-4
"""Viewers truncate microseconds to whole nanoseconds, so a whole one must not fall below itself."""


def chrome_trace(timeline: Timeline, title: str) -> dict[str, Any]:
    """Return the timeline as a trace document; events before the window are cut off.

    Args:
        timeline: the recording.
        title: the name of the process that has all tracks.
    """
    events = [*_tracks(timeline, title)]
    for attempt in timeline.attempts:
        events += _attempt(timeline, attempt)
    for backoff in timeline.backoffs:
        events.append(_slice("backoff", "backoff", backoff.core, backoff.begin, backoff.end))
    events += _arrows(timeline)
    kept = [event for event in events if event.get("ts", 0.0) >= 0]
    return {
        "displayTimeUnit": "ns",
        "otherData": {"machine": "virtual", "time": "virtual", "dropped": timeline.dropped},
        "traceEvents": kept,
    }


def _tracks(timeline: Timeline, title: str) -> Iterator[dict[str, Any]]:
    yield _meta("process_name", 0, {"name": title})
    for core in range(timeline.cores):
        yield _meta("thread_name", core, {"name": f"core {core}"})
        yield _meta("thread_sort_index", core, {"sort_index": core})


def _attempt(timeline: Timeline, attempt: Attempt) -> Iterator[dict[str, Any]]:
    core = attempt.core
    args: dict[str, Any] = {
        "attempt": attempt.number,
        "outcome": attempt.outcome or "unfinished",
        "aborts before": attempt.aborts_before,
    }
    if attempt.outcome == "abort":
        args |= {"reason": attempt.reason, "state": timeline.state_words(attempt.state)}
    name = attempt.type if attempt.outcome != "abort" else f"{attempt.type} (aborts)"
    yield _slice(name, "attempt", core, attempt.begin, attempt.end, args)
    for access in attempt.accesses:
        yield _slice(
            _access_name(timeline, access),
            "access",
            core,
            access.begin,
            access.end,
            {
                "state": timeline.state_words(access.state),
                "kind": access.kind,
                "table": access.table,
                "key": access.key,
            },
        )
    if attempt.commit_begin is not None:
        yield _slice("commit", "commit", core, attempt.commit_begin, attempt.end)
    for wait in attempt.waits:
        yield _slice(
            f"wait for {timeline.wait_words(wait)}",
            "wait",
            core,
            wait.begin,
            wait.end,
            {
                "state": _wait_state(timeline, attempt, wait),
                "until": wait.until,
                "blocker": timeline.attempt_words(wait.attempt),
                "blocker's core": wait.blocker,
            },
        )
    for point in attempt.points:
        held = "held" if point.held else "failed"
        yield _instant(
            "publish" if point.published else f"early validation {held}",
            core,
            point.time,
            {
                "state": timeline.state_words(point.state),
                "validation": held,
                "writes made visible": point.published,
            },
        )
    for time in attempt.retries:
        yield _instant("retry from the last validated point", core, time, {})
    for time in attempt.wait_cycles:
        yield _instant("wait skipped: it would close a cycle", core, time, {})
    if attempt.outcome is not None:
        args = {"reason": attempt.reason} if attempt.outcome == "abort" else {}
        yield _instant(attempt.outcome, core, attempt.end, args)


def _arrows(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """Yield arrows from publications to dependants, and from blockers to waiting transactions."""
    number = 0
    for attempt in timeline.attempts:
        ends: list[tuple[str, int | None, float, float]] = [
            ("dependency", d.attempt, d.time, d.time) for d in attempt.dependencies
        ]
        ends += [("wait", w.attempt, w.end, w.begin) for w in attempt.waits if w.until != "spin"]
        for name, source, time, arrival in ends:
            if source is None or time < 0:
                continue
            other = timeline.attempts[source]
            if name == "dependency":
                departure = timeline.published_before(source, time)
            else:
                departure = min(time, other.end)
            departure = max(min(departure, other.end - _INSIDE_NS), other.begin, 0.0)
            number += 1
            shared = {"cat": name, "name": name, "id": number, "pid": PROCESS}
            yield {**shared, "ph": "s", "tid": other.core, "ts": _us(departure)}
            # The arrow of a wait ends within the slice of the wait.
            landing = max(arrival, time - _INSIDE_NS, 0.0) if name == "wait" else arrival
            yield {**shared, "ph": "f", "bp": "e", "tid": attempt.core, "ts": _us(landing)}


def _access_name(timeline: Timeline, access: Access) -> str:
    if access.state is None:
        return f"{access.kind} {access.table}"
    return timeline.signature.accesses[access.state].name


def _wait_state(timeline: Timeline, attempt: Attempt, wait: Wait) -> str:
    for access in attempt.accesses:
        if access.begin <= wait.begin <= access.end:
            return timeline.state_words(access.state) or f"{access.kind} {access.table}"
    return "commit"


def _meta(name: str, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": PROCESS, "tid": thread, "args": args}


def _slice(
    name: str,
    category: str,
    core: int,
    begin: float,
    end: float,
    args: dict[str, Any] | None = None,
) -> dict[str, Any]:
    begin = max(begin, min(end, 0.0))
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": PROCESS,
        "tid": core,
        "ts": _us(begin),
        # Computed from both ends, so that the ends of nested slices are truncated alike.
        "dur": _us(round(end) - round(begin)),
        "args": args or {},
    }


def _instant(name: str, core: int, time: float, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "i",
        "s": "t",
        "name": name,
        "cat": "point",
        "pid": PROCESS,
        "tid": core,
        "ts": _us(time),
        "args": args,
    }


def _us(ns: float) -> float:
    return (round(ns) + _BIAS_NS) / 1000
