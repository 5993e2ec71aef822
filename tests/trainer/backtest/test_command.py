"""`heddle nightly --backtest` from arguments to page, on the engine and a trace of three days."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from envs.engine_interface import load_engine
from envs.workload import workload_signature
from policies import build_seed, to_json
from policies.sources import add_source
from tests.traces.replay.some_programs import TYPES
from tests.traces.some_transactions import manifest, write
from tests.trainer.nightly.some_nights import FIRST, TINY, busy_hour
from trainer.backtest import run as backtest_run
from trainer.checkpoint import WritingError
from trainer.command.main import heddle
from trainer.mlflow_store import MlflowStore


@dataclass(frozen=True)
class TwoNights:
    """A folder with a trace of three days and a backtest of two nights, and its output."""

    folder: Path
    done: Result


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory: pytest.TempPathFactory) -> TwoNights:
    """Run a backtest of two nights, once for the file.

    The second day of its trace equals the first, and the third has no conflicts.
    """
    folder = tmp_path_factory.mktemp("nights")
    days = [FIRST + timedelta(days=number) for number in range(3)]
    rows = [busy_hour(day, apart=day == days[-1]) for day in days]
    write(folder / "shop", *rows, manifest=manifest(types=TYPES))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return TwoNights(folder, run("--days", "2"))


@pytest.fixture(autouse=True)
def shop(two_nights: TwoNights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the trace for a test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(two_nights.folder / "shop", "shop")
    return Path("shop")


@pytest.fixture
def tried(shop: Path, two_nights: TwoNights) -> Result:
    """Copy the backtest of two nights for a test, and return its output."""
    shutil.copytree(two_nights.folder / "tried", "tried")
    return two_nights.done


def run(*typed: str) -> Result:
    return CliRunner().invoke(
        heddle,
        ["nightly", "--backtest", "trace=shop", "state=tried", "--rounds", "2", *TINY, *typed],
    )


@pytest.mark.slow
def test_two_nights_and_their_files(tried: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tried
    assert done.exit_code == 0, done.output
    assert "median over 2 days" in done.stdout
    assert done.stdout.endswith("tried/backtest.md\n")
    told = json.loads(Path("tried/backtest.json").read_text())
    assert [one["night"] for one in told["steps"]] == ["2026-03-01", "2026-03-02"]
    days = [one["next_day"] for one in told["steps"]]
    assert [one["day"] for one in days] == ["2026-03-02", "2026-03-03"]
    assert days[0]["conflict_rate"] > 0.5
    assert days[1]["conflict_rate"] == 0.0
    assert days[0]["requests"] == 600
    assert days[0]["rounds"] == 2
    assert all(0 < one["alone_us"] < 1000 for one in days)
    assert days[0]["busiest_table"] == "goods"
    page = Path("tried/backtest.md").read_text()
    assert "2026-03-03 12:00-13:00" in page
    assert Path("tried/backtest.png").exists()

    def fails(*_: object) -> None:
        raise AssertionError("what is kept is not measured again")

    monkeypatch.setattr(backtest_run, "run_night", fails)
    monkeypatch.setattr(backtest_run, "measure_next_day", fails)
    again = run("--days", "2")
    assert again.exit_code == 0, again.output
    assert again.stdout == done.stdout


@pytest.mark.slow
def test_an_interrupted_backtest_resumes(
    two_nights: TwoNights, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = backtest_run.measure_next_day
    measured = []

    def interrupted(config, trace, conditions, *rest):  # type: ignore[no-untyped-def]
        if measured:
            raise KeyboardInterrupt
        measured.append(conditions.day)
        return measure(config, trace, conditions, *rest)

    monkeypatch.setattr(backtest_run, "measure_next_day", interrupted)
    first = run("--days", "2")
    assert first.exit_code == 130
    assert (
        "interrupted; resume with: heddle nightly --backtest trace=shop state=tried "
        in first.stderr
    )
    monkeypatch.setattr(backtest_run, "measure_next_day", measure)
    done = run("--days", "2")
    assert done.exit_code == 0, done.output
    steps, others = (
        json.loads(Path(folder, "tried", "backtest.json").read_text())["steps"]
        for folder in (".", two_nights.folder)
    )
    assert [(one["next_day"]["ratio"], one["outcome"]) for one in steps] == [
        (one["next_day"]["ratio"], one["outcome"]) for one in others
    ]


@pytest.mark.usefixtures("tried")
def test_results_that_cannot_be_written_are_still_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise WritingError("tried/backtest.md: can't be written: No space left on device")

    monkeypatch.setattr("trainer.command.backtest.write_atomically", full)
    done = run("--days", "2")
    assert done.exit_code != 0
    assert "median over 2 days" in done.stdout
    assert "error: tried/backtest.md: can't be written" in done.stderr


class MovingAlias:
    """A registry whose alias points to another version at each request."""

    def __init__(self, policies: dict[str, str]) -> None:
        self.policies = policies
        self.asked = 0

    def by_version(self, typed: str) -> str:
        self.asked += 1
        return f"orders/{self.asked}"

    def text(self, typed: str) -> str:
        return self.policies[typed]


@pytest.mark.slow
def test_an_alias_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = {"name": "replay", "trace": "shop", "day": f"{FIRST}", "hours": "peak"}
    signature = workload_signature(load_engine(), workload)
    registry = MovingAlias(
        {
            f"orders/{number}": to_json(build_seed(f"random:{number}", signature))
            for number in (1, 2)
        }
    )

    def read_from(store: MlflowStore) -> MovingAlias:
        add_source("registry", registry.text)
        return registry

    monkeypatch.setattr("trainer.command.backtest.read_from", read_from)
    measure = backtest_run.measure_next_day
    compared: list[list[str]] = []

    def ended_after_one(config, *rest):  # type: ignore[no-untyped-def]
        compared.append(list(config.baselines))
        if len(compared) == 2:
            raise KeyboardInterrupt
        return measure(config, *rest)

    monkeypatch.setattr(backtest_run, "measure_next_day", ended_after_one)
    typed = ["--days", "2", "mlflow.uri=unused", "baselines=[silo,'registry:orders@champion']"]
    assert run(*typed).exit_code == 130
    done = run(*typed)
    assert done.exit_code == 0, done.output
    assert "registry:orders@champion: registry:orders/1 in all nights" in done.stderr
    assert compared == [["silo", "registry:orders/1"]] * 3
    assert registry.asked == 1
    told = json.loads(Path("tried/backtest.json").read_text())
    assert [set(one["next_day"]["throughput"]) for one in told["steps"]] == [
        {"candidate", "silo", "registry:orders/1"}
    ] * 2


def test_a_damaged_day_is_reported_and_left_out(shop: Path) -> None:
    (file,) = shop.glob("day=2026-03-03/*.parquet")
    file.write_bytes(b"no Parquet")
    done = run("--days", "1")
    assert done.exit_code == 1
    assert "2026-03-03" in done.stdout
    assert "is damaged or not Parquet" in done.stdout
    assert "## Not measured" in Path("tried/backtest.md").read_text()


@pytest.mark.usefixtures("tried")
def test_another_folder_or_plan_is_refused() -> None:
    other = run("--days", "2", "search.proposals=3")
    assert other.exit_code == 2
    assert "is a backtest with other settings (search.proposals)" in other.stderr
    shorter = run("--days", "1")
    assert shorter.exit_code == 2
    assert "(the days)" in shorter.stderr
    served = Path("served/nights/2026-03-01")
    served.mkdir(parents=True)
    real = run("--days", "1", "state=served")
    assert real.exit_code == 2
    assert "is the store of heddle nightly" in real.stderr
    Path("tried/backtest.json").write_text("{}")
    damaged = run("--days", "2")
    assert damaged.exit_code == 2
    assert "is damaged" in damaged.stderr


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--days", "3"], "has 3 days, but 3 nights and the day after each need 4; set --days 2"),
        (["trace=nowhere"], "there is no such folder"),
        (["trace=null"], "create a trace with heddle trace import"),
        (["state=null"], "such as state=backtest"),
        (["day=2026-03-01"], "set --days instead"),
        (["--days", "0"], "0 is not in the range"),
        (["workload=tpcc"], "set workload= to replay or shop"),
        (["search.generations=null", "--days", "1"], "would never end"),
    ],
)
def test_mistakes_are_reported(typed: list[str], words: str) -> None:
    done = run(*typed)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not Path("tried/nights/2026-03-01/night.json").exists()
