"""The page about runs: one self-contained HTML document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from envs import TUNED, Row, machine_words
from envs.objective import THROUGHPUT
from policies import PolicyDocument
from policies.in_words import (
    EVERY_TYPE,
    Explanation,
    by_nearness,
    policy_words,
    schedule_words,
    type_words,
)
from policies.protocol import EXTERNAL, protocol_name, protocol_words
from traces.spelling import visible
from trainer.config import ReportConfig
from trainer.outcome import LEARNED
from trainer.plot import histories_figure, history_figure
from trainer.progress import Display
from trainer.report.drawn import as_svg, style
from trainer.report.figures import (
    PARTS,
    ComparisonView,
    Place,
    abort_places,
    aborted_by_state,
    comparison_view,
    waited_by_state,
    waiting_places,
)
from trainer.report.recording import NoRecordingError
from trainer.report.saved_run import Missing, SavedRun, SavedScenario
from trainer.report.saved_sweep import SEED, SavedSweep, SweptKind
from trainer.report.table import TableView, table_view
from trainer.report.variance import VarianceView, variance_view
from trainer.report.window import Drawn, draw_windows
from trainer.run_version import heddle_version
from trainer.shell_words import heddle_command
from trainer.verdict import Verdict

TEMPLATE = "page.html.j2"
STYLE = "style.css"
SECTIONS = 8
"""The page of a sweep with more runs has no section for each: every run has its own page."""

WINDOWS = 4
"""A page of more scenarios has no timelines: it would be large."""


@dataclass(frozen=True)
class Fact:
    """A line of the training setup."""

    name: str
    value: str


@dataclass(frozen=True)
class Headline:
    """The throughput relative to the best baseline on one machine."""

    score: float
    baseline: str
    where: str
    verdict: str
    measured_on_real: bool = False


@dataclass(frozen=True)
class Spoken:
    """The differences of one transaction type from the seed, in words."""

    type: str
    sentences: list[str]


@dataclass(frozen=True)
class Count:
    """How many cells of a kind the learned table and the seed have."""

    what: str
    mark: str
    before: int
    after: int


@dataclass
class RunView:
    """One run, as the template expects it."""

    name: str
    title: str
    anchor: str
    state: str
    machine: str
    headlines: list[Headline]
    facts: list[Fact]
    missing: list[Missing]
    curve: str | None = None
    curve_note: str = ""
    comparisons: list[ComparisonView] = field(default_factory=list)
    seed: str = ""
    nearest: str = ""
    explanation: Explanation | None = None
    spoken: list[Spoken] = field(default_factory=list)
    distances: list[tuple[str, int]] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    tables: list[TableView] = field(default_factory=list)
    waiting: list[tuple[str, list[Place]]] = field(default_factory=list)
    aborts: list[tuple[str, list[Place]]] = field(default_factory=list)
    windows: list[Drawn] = field(default_factory=list)
    no_windows: str = ""
    variances: list[VarianceView] = field(default_factory=list)


def make_page(runs: Sequence[SavedRun], config: ReportConfig, typed: str, display: Display) -> str:
    """Return the page about some runs.

    Args:
        runs: at least one.
        config: the contents of the page.
        typed: the command line, for the footer.
        display: shows the progress.
    """
    display.begin("report", len(runs))
    with_windows = sum(len(run.scenarios) for run in runs) <= WINDOWS
    views = _views(runs, config, with_windows, display)
    title = views[0].title if len(views) == 1 else f"{len(views)} runs"
    return _rendered(views, _overview(runs, views) if len(runs) > 1 else None, title, typed)


def make_sweep_page(kept: SavedSweep, config: ReportConfig, typed: str, display: Display) -> str:
    """Return the page of a sweep: the statistics over the seeds, and each run.

    Up to `SECTIONS` runs have a section each.

    Args:
        kept: the sweep.
        config: the contents of the page.
        typed: the command line, for the footer.
        display: shows the progress.
    """
    runs = [swept.run for swept in kept.runs if swept.run is not None]
    display.begin("report", len(runs))
    with_windows = sum(len(run.scenarios) for run in runs) <= WINDOWS
    few = len(runs) <= SECTIONS
    views = _views(runs, config, with_windows, display) if few else []
    sections = iter(views)
    rows = []
    for swept in kept.runs:
        section = next(sections, None) if swept.run is not None else None
        rows.append(
            OverviewRow(
                swept.name,
                section.anchor if section is not None else None,
                swept.state,
                _headlines(swept.run) if swept.run is not None else [],
                swept.run.machine if swept.run is not None else "–",
                swept.values,
            )
        )
    columns = list(kept.sweep.axes)
    overview = Overview(
        rows,
        columns,
        _curves(runs) if few else None,
        kept.kinds(),
        [key for key in columns if key != SEED],
        [(swept.name, swept.reason) for swept in kept.runs if swept.reason],
        None if few else f"Each run has its own page, {kept.sweep.report.name} in its folder.",
    )
    title = f"{kept.sweep.name}: {kept.finished} of {len(kept.runs)} runs finished"
    return _rendered(views, overview, title, typed)


def _views(
    runs: Sequence[SavedRun], config: ReportConfig, with_windows: bool, display: Display
) -> list[RunView]:
    views = []
    for number, run in enumerate(runs):
        display.update(number, run.name)
        views.append(_run_view(run, config, number, with_windows))
    return views


def _rendered(views: Sequence[RunView], overview: Overview | None, title: str, typed: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_controls,
    )
    environment.filters |= {"count": _count, "percent": _percent, "us": _us}
    return environment.get_template(TEMPLATE).render(
        runs=views,
        overview=overview,
        parts=PARTS,
        style=(Path(__file__).parent / STYLE).read_text(encoding="utf-8"),
        title=title,
        version=heddle_version(),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        typed=typed,
    )


def _without_controls(value: Any) -> Any:
    """Return a value of the template with control characters in names made visible."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(map(visible, value.split("\n")))


@dataclass(frozen=True)
class OverviewRow:
    """A run among others.

    Attributes:
        name: its name.
        anchor: its section in the page; None if it has none.
        state: its progress.
        headlines: its results.
        machine: the machine it was trained on, in words.
        values: its values of the settings in the columns.
    """

    name: str
    anchor: str | None
    state: str
    headlines: list[Headline]
    machine: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Overview:
    """Several runs in one table.

    Attributes:
        rows: one per run.
        columns: the settings shown for each run.
        curve: their learning curves.
        kinds: for a sweep, the statistics over the seeds.
        kind_columns: the settings shown for each kind.
        damaged: for a sweep, the unreadable runs, each with the reason.
        note: a line below the rows.
    """

    rows: list[OverviewRow]
    columns: list[str]
    curve: str | None
    kinds: Sequence[SweptKind] = ()
    kind_columns: Sequence[str] = ()
    damaged: Sequence[tuple[str, str]] = ()
    note: str | None = None


def _overview(runs: Sequence[SavedRun], views: Sequence[RunView]) -> Overview:
    """Return the results of the runs and the settings in which they differ."""
    settings = [run.dotted_settings for run in runs]
    differing = [
        key
        for key in dict.fromkeys(key for values in settings for key in values)
        if len({values.get(key) for values in settings}) > 1 and _worth_showing(key)
    ]
    rows = [
        OverviewRow(
            view.name,
            view.anchor,
            view.state,
            view.headlines,
            view.machine,
            {key: values.get(key, "–") for key in differing},
        )
        for view, values in zip(views, settings, strict=True)
    ]
    return Overview(rows, differing, _curves(runs))


def _curves(runs: Sequence[SavedRun]) -> str | None:
    """Draw all learning curves in one picture; None if there are none."""
    names = [run.name for run in runs]
    histories = {
        run.name if names.count(run.name) == 1 else str(run.folder.path): run.checkpoint.history
        for run in runs
        if run.checkpoint.history
    }
    if not histories:
        return None
    with style():
        references = {_reference(run) for run in runs}
        name = references.pop() if len(references) == 1 else "each run's reference"
        return as_svg(histories_figure(histories, name), "curves")


def _worth_showing(key: str) -> bool:
    part = key.split(".")[0]
    return part in ("workload", "machine", "robust", "search", "seed") and not key.startswith(
        "machine.costs"
    )


def _run_view(run: SavedRun, config: ReportConfig, number: int, with_windows: bool) -> RunView:
    view = RunView(
        run.name,
        _title(run),
        f"run-{number + 1}",
        "running" if run.running else "finished" if run.finished else "not finished",
        run.machine,
        _headlines(run),
        _facts(run),
        list(run.missing),
    )
    _add_curve(view, run, number)
    compared = [
        (scenario.comparison, scenario.label, scenario.verdict) for scenario in run.scenarios
    ]
    compared += [
        (scenario.validation, scenario.label, scenario.validated) for scenario in run.scenarios
    ]
    for comparison, label, verdict in compared:
        shown = comparison_view(comparison, label, verdict) if comparison is not None else None
        if shown is not None:
            view.comparisons.append(shown)
    # In an external store neither the table nor the engine's virtual cores say anything.
    if run.policy is not None and protocol_name(run.policy.protocol) != EXTERNAL:
        seeds = by_nearness(run.policy)
        seed, explanation = next(pair for pair in seeds if config.beside in (None, pair[0].name))
        view.distances = [
            (policy_words(document.name), explained.cells) for document, explained in seeds
        ]
        _add_policy(view, run, run.policy, seed, explanation)
        if config.timeline.enabled and with_windows:
            _add_windows(view, run, run.policy, seed, config, number)
        if config.variance.enabled and with_windows:
            _add_variances(view, run, run.policy, config, number)
    return view


def _headlines(run: SavedRun) -> list[Headline]:
    found = [
        _headline(scenario.verdict, f"{scenario.machine}{_in(scenario)}")
        for scenario in run.scenarios
        if scenario.verdict is not None
    ]
    for scenario in run.scenarios:
        if scenario.validated is not None and scenario.validation is not None:
            where = f"{machine_words(scenario.validation.rows[0].machine)}{_in(scenario)}"
            found.append(replace(_headline(scenario.validated, where), measured_on_real=True))
    return found


def _headline(verdict: Verdict, where: str) -> Headline:
    return Headline(verdict.ratio, policy_words(verdict.baseline), where, verdict.short)


def _in(scenario: SavedScenario) -> str:
    return f" ({scenario.label})" if scenario.label else ""


def _title(run: SavedRun) -> str:
    options = run.scenarios[0].workload
    name = str(options.pop("name", "a workload"))
    warehouses = options.get("warehouses")
    if len(run.scenarios) > 1:
        name += f", {len(run.scenarios)} scenarios: " + " | ".join(
            scenario.label for scenario in run.scenarios
        )
    elif warehouses is not None:
        name += f", {warehouses} warehouse{'' if warehouses == 1 else 's'}"
    return f"{name} on {run.machine}"


def _workload_fact(scenario: SavedScenario) -> Fact:
    options = scenario.workload
    name = str(options.pop("name", "unknown"))
    shown = ", ".join(f"{key} {value}" for key, value in options.items() if value is not None)
    return Fact(f"Workload{_in(scenario)}", f"{name} ({shown})" if shown else name)


def _facts(run: SavedRun) -> list[Fact]:
    search, state = run.search, run.checkpoint
    facts = [
        *(_workload_fact(scenario) for scenario in run.scenarios),
        Fact("Machine", run.machine),
    ]
    if run.combination is not None:
        facts.append(
            Fact("Trained for", f"the {run.combination} over {len(run.scenarios)} scenarios")
        )
    facts += [
        Fact(f"Objective{_in(scenario)}", scenario.comparison.objective.text)
        for scenario in run.scenarios
        if scenario.comparison is not None and scenario.comparison.objective != THROUGHPUT
    ]
    first = run.scenarios[0]
    host = first.comparison.host if first.comparison is not None else None
    if host is not None:
        facts.append(Fact("Measured on", host.words))
        build = f"{host.compiler}, commit {host.commit}; clock source {host.clock}"
        facts.append(Fact("Engine", build))
    costs = first.settings.get("machine", {}).get("costs") if first.virtual else None
    if isinstance(costs, Mapping):
        facts.append(Fact("Core to core", f"{costs.get('transfer_ns')} ns per cache line"))
    facts.append(Fact("Search", str(search.get("name", "unknown"))))
    if state.history:
        facts.append(
            Fact(
                "Cost",
                f"{_candidates(run)} evaluated in {len(state.history):,} generations, "
                f"{state.seconds:,.0f} s",
            )
        )
    facts.append(Fact("Seed", str(run.settings.get("seed", "unknown"))))
    for scenario, tuned in zip(run.scenarios, state.tuned, strict=False):
        facts.append(Fact(f"{_reference_words(run)}{_in(scenario)}", tuned.words))
    if run.policy is not None and run.policy.protocol is not None:
        words = protocol_words(run.policy.protocol, run.policy.signature.type_names)
        facts.append(Fact("Protocol", words))
    if run.policy is not None and run.policy.schedule is not None:
        facts.append(Fact("Schedule", schedule_words(run.policy.schedule)))
    provenance = run.policy.provenance if run.policy is not None else {}
    for key, label in (("origin", "Origin of the policy"), ("version", "Heddle"), ("date", "Date")):
        if provenance.get(key):
            facts.append(Fact(label, str(provenance[key])))
    if run.typed:
        facts.append(Fact("Command", heddle_command("train", *run.typed)))
    return facts


def _reference(run: SavedRun) -> str:
    """Return the name of what fitness is relative to."""
    return run.checkpoint.tuned[0].name if run.checkpoint.tuned else TUNED


def _reference_words(run: SavedRun) -> str:
    return "Tuned store" if run.checkpoint.stores else "Tuned Silo"


def _reference_note(run: SavedRun) -> str:
    if run.checkpoint.stores:
        return f"{_reference(run)}, the store with its best settings"
    return f"{_reference(run)}, Silo with its best backoff"


def _candidates(run: SavedRun) -> str:
    count, scenarios = run.checkpoint.evaluations, len(run.scenarios)
    each = f", each in {scenarios} scenarios," if scenarios > 1 else ""
    return f"{count // scenarios:,} candidates{each}"


def _add_curve(view: RunView, run: SavedRun, number: int) -> None:
    history = run.checkpoint.history
    if not history:
        return
    with style():
        view.curve = as_svg(history_figure(history, _reference(run)), f"curve{number}")
    last = history[-1]
    incumbent = f"The incumbent's current estimate is {last.incumbent_words}"
    view.curve_note = f"Throughput relative to {_reference_note(run)}. {incumbent}."
    if last.scores and run.combination is not None:
        each = ", ".join(
            f"{score:.3f} at {scenario.label}"
            for score, scenario in zip(last.scores, run.scenarios, strict=False)
        )
        view.curve_note = (
            f"The {run.combination} over the scenarios of throughput relative to "
            f"{_reference_note(run)} in each scenario. {incumbent}; the best of the last "
            f"generation {last.best:.3f}: {each}."
        )
    view.curve_note += " The short runs of the search overestimate it."
    if all(
        scenario.comparison is not None and scenario.comparison.rows for scenario in run.scenarios
    ):
        view.curve_note += " The comparison below is a new measurement."


def _add_policy(
    view: RunView,
    run: SavedRun,
    policy: PolicyDocument,
    seed: PolicyDocument,
    explanation: Explanation,
) -> None:
    view.seed = policy_words(seed.name)
    view.nearest = view.distances[0][0]
    view.explanation = explanation
    spoken = groupby(explanation.sentences, key=lambda sentence: sentence.type)
    view.spoken = [
        Spoken(_heading(kind), [sentence.text for sentence in sentences])
        for kind, sentences in spoken
    ]
    rows = [row for scenario in run.scenarios if (row := _row(scenario, LEARNED)) is not None]
    waited, aborted = waited_by_state(rows), aborted_by_state(rows)
    after = table_view(policy, LEARNED, seed, waited, aborted)
    before = table_view(seed, seed.name)
    view.tables = [before, after]
    view.counts = _counts(before, after)
    for scenario in run.scenarios:
        for name in (LEARNED, seed.name):
            measured = _row(scenario, name)
            if measured is None:
                continue
            words = f"{policy_words(name)}{_in(scenario)}"
            view.waiting.append((words, waiting_places(measured, policy.signature)))
            view.aborts.append((words, abort_places(measured, policy.signature)))


def _heading(kind: str) -> str:
    return kind if kind == EVERY_TYPE else type_words(kind)


def _row(scenario: SavedScenario, name: str) -> Row | None:
    return scenario.comparison.row(name) if scenario.comparison is not None else None


def _counts(before: TableView, after: TableView) -> list[Count]:
    kinds = (
        ("waits until an access is finished", "wait"),
        ("waits until the other has ended", "end"),
        ("dirty reads", "dirty"),
        ("published writes", "public"),
        ("early validations of private writes", "early"),
    )
    return [Count(what, mark, _marked(before, mark), _marked(after, mark)) for what, mark in kinds]


def _marked(table: TableView, mark: str) -> int:
    return sum(cell.mark == mark for _, rows in table.types for row in rows for cell in row.cells)


def _add_windows(
    view: RunView,
    run: SavedRun,
    policy: PolicyDocument,
    seed: PolicyDocument,
    config: ReportConfig,
    number: int,
) -> None:
    if not run.scenarios[0].virtual:
        view.no_windows = (
            "A run on real cores has no timeline: virtual cores would conflict at another rate. "
            "heddle timeline records a policy on virtual cores."
        )
        return
    for at, scenario in enumerate(run.scenarios):
        try:
            drawn = draw_windows(
                scenario,
                {seed.name: seed, LEARNED: policy},
                config.timeline,
                f"window{number}-{at}-",
            )
        except NoRecordingError as error:
            what = f"the timelines{_in(scenario)}"
            view.missing.append(Missing(what, f"the workload can't be run here: {error}"))
            return
        view.windows += [replace(window, name=f"{window.name}{_in(scenario)}") for window in drawn]


def _add_variances(
    view: RunView, run: SavedRun, policy: PolicyDocument, config: ReportConfig, number: int
) -> None:
    """Add the section of each scenario on virtual cores that has a verdict."""
    tuned = run.checkpoint.backoffs
    for at, scenario in enumerate(run.scenarios):
        if not scenario.virtual or scenario.best is None:
            continue
        try:
            found = variance_view(
                scenario,
                scenario.best[0],
                tuned[at] if at < len(tuned) else None,
                (LEARNED, policy),
                config.variance,
                f"variance{number}-{at}-",
            )
        except NoRecordingError as error:
            what = f"the variance of latency{_in(scenario)}"
            view.missing.append(Missing(what, f"the workload can't be run here: {error}"))
            return
        view.variances.append(replace(found, name=_in(scenario)))


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _us(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
