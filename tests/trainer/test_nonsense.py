"""Invalid command lines end soon, with one message that names the mistake."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.trainer.test_command import QUICK, VIRTUAL
from trainer.command.main import heddle

HUGE = "9" * 400
SECONDS_MAX = 120.0
"""A generous limit: nothing is measured, but machines may be busy."""

NUMBERS = {
    "train": [
        *("machine.cores", "search.generations", "search.parents", "search.children"),
        *("search.seconds", "search.probability", "search.crossover", "search.decay"),
        *("search.distance", "search.distance_min"),
        *("evaluation.slice_seconds", "evaluation.warmup_seconds", "evaluation.reference_every"),
        *("evaluation.keep", "tuning.rounds", "champion.finalists", "champion.slice_seconds"),
        *("champion.warmup_seconds", "tuning.warmup_seconds", "evaluation.settled"),
        *("run.seconds", "run.repeats", "validation.warmup", "machine.costs.memory_ns"),
        *("machine.skew_ns", "workload.warehouses"),
    ],
    "evaluate": ["run.seconds", "run.warmup", "workload.warehouses"],
    "timeline": ["seconds", "warmup", "events", "until_us"],
    "variance": ["seconds", "warmup", "events", "share", "k", "d", "draw_share"],
    "evaluate --switch": ["seconds", "warmup", "intervals", "seed", "machine.cores"],
    "serve": [
        *("seconds", "poll_seconds", "report_seconds", "grown_mib_max", "machine.cores", "seed"),
        *("workload.records", "workload.theta", "workload.operations", "report_seconds"),
    ],
    "trace record": ["seconds", "sessions", "mib_max", "machine.cores", "seed", "workload.records"],
    "machine compare": ["seconds", "rounds", "random", "mutated", "virtual_seconds"],
    "machine calibrate": ["seconds", "rounds", "virtual_seconds"],
}
"""Settings that are numbers, by command."""

NO_NUMBERS = ["-1", "nan", "inf", HUGE, "", "abc", "[]", "{a:1}", "0x", "${nope}"]
"""Values that are invalid for all of them."""

WORDS: dict[str, list[str]] = {
    "train": [
        *("runs_dir=", "runs_dir=file", "runs_dir=dangling", "runs_dir=loop"),
        *("resume=gone", "resume=file", "resume=dir", "resume=loop", "resume=a,b"),
        *("resume=/", f"resume={HUGE}", "workload=", "workload=[tpcc]"),
        *("workload.mix=none", "workload.name=ycsb"),
        *("search=", "search.actions=[]", "search.actions=[none]"),
        *("evaluation.rungs=[]", "evaluation.rungs=[0]"),
        *("evaluation.rungs=[99999999999]", "evaluation.rungs=null"),
        *("baselines=[none]", "baselines=[./dir]", "baselines=[binary.json]"),
        *("mlflow=null", "run=null"),
        *("machine/costs=latin.yaml", "machine/costs=empty.yaml"),
        *("machine/costs=dir.yaml", "seed=${seed}", "seed=${oc.env:HOME}", "runs_dir=${oc.env:NO}"),
        *(
            "seed=1,2",
            "seed='",
            "=3",
            "seed",
            "",
            " ",
            "--nope",
            "~seed",
            "+seeds=1",
        ),
        *(
            "seed=\udcff",
            "seed=18446744073709551616",
            "search.seconds=1e300",
            "tuning.slice_seconds=1e-300",
        ),
    ],
    "evaluate": [
        *("policy=", "policy=[[silo]]", "policy='"),
        *("policy=./dir", "policy=./loop", "policy=binary.json"),
        *("policy=empty.json", "policy=random:x", "policy=random:-1"),
        *("policy=\udcff.json", "output=", "output=dir", "output=dir/"),
        *("output=/proc/x", "run.seconds=1e300", "run.repeats=1e9"),
        *("seed=9999999999999999999"),
    ],
    "timeline": [
        *("policy=silo,occ", "policy=[silo]", "policy=./dir", "output=dir"),
        *("output=null", "output=/proc/x", "picture=", "picture=dir"),
        *("draw_cores=[-1]", "draw_cores=[a]"),
        *("seconds=1e300", "warmup=1e300", "seconds=1e-300"),
    ],
    "variance": [
        *("policy=", "policy=./dir", "policy=binary.json", "types=[]", "types=[1]"),
        *("output=dir", "output=/proc/x", "picture=", "picture=dir", "picture=x.txt"),
        *("d=-1", "d=2", "k=0", "draw_share=nan", "share=0", "share=2", "seconds=1e-300"),
    ],
    "evaluate --switch": [
        *("policy=", "policy=silo,occ", "policy=./dir,occ", "policy=occ,binary.json", "policy=occ"),
        *("at=", "at=a", "at=0.5", "at=0.005,0.006", "at=-1", "at=nan", "at=0", "at=1e300"),
        *("output=", "output=dir", "output=/proc/x", "picture=", "picture=dir", "picture=x.txt"),
        *("seconds=1e300", "seconds=1e-300", "intervals=7", "intervals=99999999"),
    ],
    "serve": [
        *("policy=", "policy=gone", "policy=gone/policy.json", "policy=null", "policy=./loop"),
        *("policy=a,b", "policy=[a.json]", "policy=file/policy.json", "policy=dangling"),
        *("fallback=", "fallback=none", "fallback=silo_tuned", "fallback=./dir"),
        *("fallback=binary.json", "fallback=empty.json", "fallback=random:x"),
        *("machine=virtual", "workload=", "workload.name=tpcc", "workload.record=1"),
        *("seconds=1e300", "seconds=1e-300", "poll_seconds=0", "report_seconds=1e300"),
        *("grown_mib_max=1e9", "seed=1,2", "seed=9999999999999999999", "output=x"),
    ],
    "trace record": [
        *(
            "output=",
            "output=file",
            "output=dir",
            "output=dangling",
            "output=loop",
            "output=file/x",
        ),
        *("output=/proc/x", "output=\udcff", "policy=./dir", "policy=none"),
        *("machine=virtual", "workload=", "seconds=1e300", "seconds=1e-300", "name=", "warmup=1"),
    ],
    "machine compare": [
        *("policy=./dir", "reference=none", "reference=silo_tuned"),
        *("policy=silo_tuned", "output=", "output=file", "output=dangling"),
        *("output=/proc/x", "random=999999999999", "mutated=999999999999"),
        *("machine.cores=257", "rounds=99999999999999999999"),
    ],
    "machine calibrate": [
        "output=",
        "output=dir",
        "output=/proc/x",
        "machine=virtual",
        "seconds=1e300",
    ],
}
"""Invalid settings, by command."""

OTHERS = [
    *(["none"], ["--none"], ["policy", "none"], ["policy", "show"]),
    *(
        ["policy", "show", word]
        for word in ("", "none", "gone.json", "dir", "./loop", "empty.json")
    ),
    *(["policy", "show", word] for word in ("empty.json", "binary.json", "random:x", "\udcff")),
    *(["policy", "show", "ic3", "-o", word] for word in ("x", "=1", "x=1", "name=ycsb")),
    *(["policy", "show", "ic3", "--workload", word] for word in ("", "none")),
    *(["policy", "validate", "gone.json", "dir"], ["policy", "validate", "binary.json"]),
    *(["policy", "diff", "ic3"], ["policy", "diff", "ic3", "gone.json"]),
    *(["policy", "convert", word, "x.json"] for word in ("gone.txt", "dir", "file", "binary.json")),
    *(["train", "-m", "seed=1,2", "runs_dir=file"], ["train", "-m", "resume=a,b"]),
]
"""Whole command lines."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dir").mkdir()
    Path("dir.yaml").mkdir()
    Path("file").write_text("words")
    Path("empty.json").touch()
    Path("empty.yaml").touch()
    Path("binary.json").write_bytes(b"\xff\xfe\0\x01")
    Path("latin.yaml").write_bytes(b"word_ns: caf\xe9\n")
    Path("dangling").symlink_to("nowhere/at/all")
    Path("loop").symlink_to("loop")


def refusal(*arguments: str) -> str:
    """Return the command's output, which must be one message, soon, without new files."""
    before, began = set(Path().rglob("*")), time.monotonic()
    done = CliRunner().invoke(heddle, arguments)
    words = f"heddle {' '.join(arguments)[-100:]}\n{done.output}"
    assert isinstance(done.exception, SystemExit), (words, done.exception)
    assert done.exit_code == 2, words
    assert time.monotonic() - began < SECONDS_MAX, words
    lines = [line for line in done.output.splitlines() if line.strip()]
    told = next(number for number, line in enumerate(lines) if line.lower().startswith("error"))
    # An unknown key is followed by the list of known keys.
    assert len(lines) - told <= 3 or "Settings and their present values:" in lines, words
    assert len(lines[told]) < 1000, words
    assert set(Path().rglob("*")) == before, words
    return done.output


SMALL = {
    "train": [*VIRTUAL, "search=evolution", "validation.enabled=false"],
    "evaluate": ["policy=silo", "machine=virtual", "machine.cores=2"],
    "timeline": ["machine.cores=2"],
    "variance": ["policy=silo", "machine.cores=2"],
    "evaluate --switch": ["machine=virtual", "machine.cores=2", "seconds=0.01", "intervals=10"],
    "serve": ["workload=ycsb", "workload.records=100", "policy=new.json", "seconds=0.01"],
    "trace record": [
        *("workload=ycsb", "workload.records=100", "machine.cores=1", "seconds=0.01"),
        "output=trace",
    ],
    "machine compare": ["machine.cores=1", "random=1", "mutated=1"],
    "machine calibrate": ["rounds=1", "seconds=0.001"],
}
"""Settings that shorten runs which are not refused."""


@pytest.mark.parametrize("command", NUMBERS)
def test_an_invalid_number_is_reported(command: str) -> None:
    """Every setting is tested with one value, and every value with some settings."""
    for number, key in enumerate(NUMBERS[command]):
        value = NO_NUMBERS[number % len(NO_NUMBERS)]
        assert key.rpartition(".")[2] in refusal(
            *command.split(), *SMALL[command], f"{key}={value}"
        )


@pytest.mark.parametrize("command", WORDS)
def test_an_invalid_setting_is_reported(command: str) -> None:
    for text in WORDS[command]:
        said = refusal(*command.split(), *SMALL[command], text)
        key, _, value = text.encode(errors="backslashreplace").decode().partition("=")
        parts = [part.strip("./[]")[:20] for part in value.split(",")]
        words = (key.rpartition(".")[2], *parts)
        assert not any(words) or any(word and word in said for word in words), said


def test_other_invalid_command_lines() -> None:
    for arguments in OTHERS:
        refusal(*arguments)


def test_invalid_settings_of_a_sweep_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["heddle"])
    for text in ("runs_dir=dangling", "seed=${nope}"):
        refusal("train", "-m", *QUICK, text)
