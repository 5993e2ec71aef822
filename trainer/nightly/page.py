"""A night as a page for people (Markdown)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Found = Mapping[str, Any]


def page_of(night: Found) -> str:
    """The page.

    Args:
        night: as `Night.as_dict` gives it.
    """
    made_up = ", a synthetic trace" if night["synthetic"] else ""
    sections = [
        f"# Night of {night['day']}: {night['outcome']}",
        night["why"],
        f"Trace {night['trace']}{made_up}. Decided {night['at']} by Heddle {night['version']}.",
    ]
    numbers = night["numbers"]
    if "conditions" in numbers:
        sections += ["## The peak", *_peak(numbers)]
    if "training" in numbers:
        sections += ["## The training", _training(numbers)]
    if "standings" in numbers:
        sections += ["## The judgement", *_judgement(numbers)]
    if "again" in numbers:
        sections += ["## Again by hand", "```bash\n" + "\n".join(numbers["again"]) + "\n```"]
    return "\n\n".join(sections) + "\n"


def _peak(numbers: Found) -> Iterator[str]:
    today, before = numbers["conditions"], numbers.get("trained_for")
    columns = [("", "today"), ("day", today["day"]), ("peak hour (UTC)", f"{today['hour']}:00")]
    columns += [("requests", f"{today['requests']:,}")]
    columns += [("conflict rate", f"{today['conflict_rate']:.4f}")]
    if before is None:
        yield markdown_table(columns)
        return
    others = ["trained for", before["day"], f"{before['hour']}:00"]
    others += [f"{before['requests']:,}", f"{before['conflict_rate']:.4f}"]
    yield markdown_table([(*one, other) for one, other in zip(columns, others, strict=True)])
    if numbers.get("difference") is not None:
        yield (
            f"Relative difference of the conflict rates: {numbers['difference']:.1%}; trained from "
            f"{numbers['threshold']:.1%} on."
        )


def _training(numbers: Found) -> str:
    training = numbers["training"]
    return (
        f"On {training['hours']} (UTC), on {training['machine']}: {training['evaluations']:,} "
        f"evaluations in {training['seconds']:,.0f} s, from {training['from']}. The candidate came "
        f"from: {training['origin']}."
    )


def _judgement(numbers: Found) -> Iterator[str]:
    held_out = numbers["held_out"]
    repeats = held_out["repeats"]
    runs = "one run" if repeats == 1 else f"{repeats} runs"
    yield (
        f"On {held_out['hours']} (UTC), held out from the training, in {len(held_out['blocks'])} "
        f"blocks of {runs} each, on {numbers['machine']}. A ratio is the "
        "candidate's throughput over the other's, within runs on the same inputs; the interval of "
        f"{held_out['confidence']:.0%} is a bootstrap over the blocks. To be served, the candidate "
        f"must beat {numbers['opponent']}: the whole interval above 1."
    )
    commits = numbers["throughput"]
    rows = [("policy", "commits/s", "candidate ÷ it", "from", "to")]
    rows += [("candidate", f"{commits['candidate']:,.0f}", "", "", "")]
    for one in numbers["standings"]:
        figures = (f"{one[key]:.4f}" for key in ("ratio", "low", "high"))
        rows.append((one["name"], f"{commits[one['name']]:,.0f}", *figures))
    yield markdown_table(rows)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
