"""The page about a night, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Found = Mapping[str, Any]


def page_of(night: Found) -> str:
    """Return the page.

    Args:
        night: the result of `Night.as_dict`.
    """
    made_up = ", a synthetic trace" if night["synthetic"] else ""
    sections = [
        f"# Night of {night['day']}: {night['outcome']}",
        night["why"],
        f"Trace {night['trace']}{made_up}. Decided {night['at']} by Heddle {night['version']}.",
    ]
    numbers = night["numbers"]
    if "conditions" in numbers:
        sections += ["## Peak hour", *_peak(numbers)]
    if "training" in numbers:
        sections += ["## Training", _training(numbers)]
    if "standings" in numbers:
        sections += ["## Evaluation", *_judgement(numbers)]
    if "again" in numbers:
        sections += ["## Reproduction", "```bash\n" + "\n".join(numbers["again"]) + "\n```"]
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
    yield markdown_table([(*row, other) for row, other in zip(columns, others, strict=True)])
    if numbers.get("difference") is not None:
        yield (
            f"Relative difference of the conflict rates: {numbers['difference']:.1%}; threshold "
            f"of a training: {numbers['threshold']:.1%}."
        )


def _training(numbers: Found) -> str:
    training = numbers["training"]
    return (
        f"On {training['hours']} (UTC), on {training['machine']}: {training['evaluations']:,} "
        f"evaluations in {training['seconds']:,.0f} s, starting from {training['from']}. Origin of "
        f"the candidate: {training['origin']}."
    )


def _judgement(numbers: Found) -> Iterator[str]:
    held_out = numbers["held_out"]
    repeats = held_out["repeats"]
    runs = "one run" if repeats == 1 else f"{repeats} runs"
    yield (
        f"On {held_out['hours']} (UTC), held out from the training, in {len(held_out['blocks'])} "
        f"blocks of {runs} each, on {numbers['machine']}. A ratio is the candidate's throughput "
        f"relative to the other policy's, on the same inputs. The {held_out['confidence']:.0%} "
        "interval is a bootstrap over the blocks. The candidate is published if the whole interval "
        f"of its ratio to {numbers['opponent']} is above 1."
    )
    commits = numbers["throughput"]
    rows = [("policy", "commits/s", "candidate ÷ policy", "from", "to")]
    rows += [("candidate", f"{commits['candidate']:,.0f}", "", "", "")]
    for standing in numbers["standings"]:
        figures = (f"{standing[key]:.4f}" for key in ("ratio", "low", "high"))
        rows.append((standing["name"], f"{commits[standing['name']]:,.0f}", *figures))
    yield markdown_table(rows)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
