"""The known peers of the side-by-side benchmark, on programs that print each peer's format."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.bench.peers import catalog, tsc
from engine.bench.peers.definition import Benchmark, OutputError, TscClock

SCRIPT = Path(__file__).parents[3] / "engine" / "bench" / "side_by_side.py"
TSC_MHZ = "2500"

STO = """echo 'Info: CPU tsc frequency determined as 1.00 GHz.'
echo 'Elapsed time: 2500000000 ticks'
echo 'Real time: 2500.00 ms'
echo 'Throughput: 40000.00 txns/sec'"""
SILO = """echo 'agg_nosync_throughput: 7 ops/sec' >&2
echo 'agg_throughput: 1.5e+05 ops/sec' >&2
echo 'avg_per_core_throughput: 75000 ops/sec/core' >&2
echo '150000 150000 0.006 0 12'"""
CICADA = """test -f test_tx.json || exit 1
echo 'executing workload'
echo 'throughput:                     0.625 M/sec'"""
CCBENCH_TPCC = r"""printf 'latency[ns]:\t8000\nthroughput[tps]:\t125000\n'"""
CCBENCH_YCSB = r"""printf '#FLAGS_ycsb_max_ope:\t16\n'
echo '#ShowOptParameters(): BACK_OFF 1: MASSTREE_USE 1: VAL_SIZE 100: WAL 0'
printf 'throughput[tps]:\t300000\n'"""
POLYJUICE = "echo 'RESULT throughput(80000.5),agg_abort_rate(0.01)'"


def _program(path: Path, text: str) -> Path:
    """Write a program that saves its arguments next to itself, one per line, then runs `text`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{path}.arguments'\n{text}\n")
    path.chmod(0o755)
    return path


def _arguments(program: Path) -> list[str]:
    return Path(f"{program}.arguments").read_text().splitlines()


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def this(tmp_path: Path) -> Path:
    return _program(tmp_path / "this", """echo '{"throughput": 300000}'""")


def _measure(this: Path, peer: str, only: str, *words: object) -> subprocess.CompletedProcess[str]:
    run = ["--rounds", 2, "--seconds", 0.5, "--tsc-mhz", TSC_MHZ]
    return _run(this, "--peer", peer, "--only", only, *run, *words)


def _row(done: subprocess.CompletedProcess[str], name: str) -> str:
    assert done.returncode == 0, done.stderr
    rows = [" ".join(row.split()) for row in done.stdout.splitlines()]
    return next(row for row in rows if f"t {name} " in row)


def test_stos_figure_and_run_time_are_corrected_by_the_measured_frequency(
    this: Path, tmp_path: Path
) -> None:
    program = _program(tmp_path / "tpcc_bench", STO)
    done = _measure(this, f"sto={program}", "tpcc new_order_payment 2w 2t")
    # 2.5 s by the assumed 1 GHz were 1 s: 40,000 a second were 100,000.
    assert "sto 100,000 (100,000 to 100,000) this ÷ it: 3.000" in _row(done, "sto")
    assert {"--nwarehouses=2", "--nthreads=2", "--mix=2", "--dbid=default", "--gc"} < set(
        _arguments(program)
    )
    seconds = 0.5 * float(TSC_MHZ) / tsc.named_mhz()
    assert f"--time={seconds:.3f}" in _arguments(program)
    assert "sto:\n  - Order numbers come from a counter" in done.stdout


def test_silos_figure_counts_all_threads(this: Path, tmp_path: Path) -> None:
    program = _program(tmp_path / "dbtest", SILO)
    done = _measure(this, f"silo={program}", "tpcc full 1w 2t")
    assert "silo 150,000 (150,000 to 150,000)" in _row(done, "silo")
    arguments = _arguments(program)
    assert arguments[-2:] == ["--bench-opts", "--workload-mix 45,43,4,4,4"]
    assert arguments[arguments.index("--runtime") + 1] == "1"  # whole seconds
    assert "--retry-aborted-transactions" in arguments


def test_cicada_runs_in_its_own_folder_and_prints_millions(this: Path, tmp_path: Path) -> None:
    program = _program(tmp_path / "build" / "test_tx", CICADA)
    (program.parent / "test_tx.json").write_text("{}")
    done = _measure(this, f"cicada={program}", "ycsb hash 0 2t")
    assert "cicada 625,000 (625,000 to 625,000)" in _row(done, "cicada")
    assert _arguments(program) == ["1000000", "16", "0.5", "0", "100000", "2"]


def test_ccbench_has_two_programs_distinguished_by_name(this: Path, tmp_path: Path) -> None:
    tpcc = _program(tmp_path / "tpcc_silo.exe", CCBENCH_TPCC)
    ycsb = _program(tmp_path / "ycsb_silo.exe", CCBENCH_YCSB)
    done = _measure(this, f"ccbench={tpcc}", " 1t", "--peer", f"ccbench={ycsb}")
    rows = [" ".join(row.split()) for row in done.stdout.splitlines()]
    assert "ccbench 125,000 (125,000 to 125,000)" in _row(done, "ccbench")
    assert any(row.startswith("ycsb ordered 0.99 1t ccbench 300,000") for row in rows)
    assert any(row.startswith("ycsb hash 0.99 1t ccbench skipped: ") for row in rows)
    assert "-tpcc_perc_payment=49" in _arguments(tpcc)  # the last cell: NewOrder and Payment
    assert "-tpcc_perc_delivery=0" in _arguments(tpcc)
    assert {"-clocks_per_us=2500", "-ycsb_zipf_skew=0", "-zipf_skew=0", "-ycsb_rmw=1"} < set(
        _arguments(ycsb)
    )
    assert done.stdout.count("ccbench:\n") == 1


def test_polyjuice_reads_the_artifacts_policy_or_a_given_one(this: Path, tmp_path: Path) -> None:
    program = _program(tmp_path / "out-perf.masstree" / "benchmarks" / "dbtest", POLYJUICE)
    missing = _measure(this, f"polyjuice={program}", "tpcc full 1w 1t")
    assert missing.returncode == 1
    assert "give --peer polyjuice=BINARY,policy=FILE" in missing.stderr
    policy = tmp_path / "training" / "input-RL-occ-tpcc.txt"
    policy.parent.mkdir()
    learned = tmp_path / "2th-1wh.txt"
    for path in (policy, learned):
        path.write_text("policy")
    for given, expected in (("", policy), (f",policy={learned}", learned)):
        done = _measure(this, f"polyjuice={program}{given}", "tpcc full 1w 1t")
        assert "polyjuice 80,000 (80,000 to 80,000)" in _row(done, "polyjuice")
        assert str(expected) in _arguments(program)


def test_the_list_has_cells_and_notes_of_every_peer() -> None:
    done = _run("--peer", "list")
    assert done.returncode == 0, done.stderr
    assert list(catalog.peers()) == ["ccbench", "cicada", "polyjuice", "silo", "sto"]
    for peer in catalog.peers().values():
        assert f"{peer.name}: {peer.source}" in done.stdout
        assert f"runs {peer.cells()}" in done.stdout
        assert peer.notes
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("peer", "only", "message"),
    [
        ("stoo={sto}", "tpcc", "--peer stoo: no such peer; did you mean sto?"),
        ("zzz={sto}", "tpcc", "known: ccbench, cicada, polyjuice, silo, sto"),
        ("sto", "tpcc", "--peer sto: give NAME=BINARY"),
        ("sto=", "tpcc", "--peer sto=: give NAME=BINARY"),
        ("sto={folder}/nowhere", "tpcc", "nowhere: no such file"),
        ("sto={folder}/text", "tpcc", "text: not an executable file"),
        ("sto={folder}", "tpcc", "not an executable file"),
        ("ccbench={sto}", "tpcc", "tpcc or ycsb_silo or silo is expected in it"),
        ("sto={sto},policy={sto}", "tpcc", "unknown option policy (known: none)"),
        ("sto={sto}", "ycsb", "10 M records of ten 100-byte columns, set in the source; it runs"),
        ("cicada={sto}", "ycsb ordered", "it runs ycsb hash"),
        ("ccbench={folder}/tpcc_silo", "ycsb ordered", "another of its binaries, with ycsb_silo"),
        ("silo={sto}", "tpcc full 1w 1t", "sto: prints nothing like"),
        ("polyjuice={failing}", "tpcc full 1w 1t", "no policy at"),
        ("silo={failing}", "tpcc full 1w 1t", "exit code 3\n  unknown option\n"),
        ("silo={killed}", "tpcc full 1w 1t", "ended by signal 9"),
        ("silo={none}", "tpcc full 1w 1t", "silo: tpcc full 1w 1t: no transaction committed"),
        ("silo={binary}", "tpcc full 1w 1t", "No such file or directory"),
    ],
)
def test_an_error_of_a_peer_is_one_sentence(
    this: Path, tmp_path: Path, peer: str, only: str, message: str
) -> None:
    (tmp_path / "text").write_text("text")
    programs = {
        "sto": STO,
        "tpcc_silo": CCBENCH_TPCC,
        "failing": "echo 'unknown option' >&2; exit 3",
        "killed": "kill -9 $$",
        "none": "echo 'agg_throughput: 0 ops/sec'",
    }
    paths = {name: _program(tmp_path / name, text) for name, text in programs.items()}
    paths["binary"] = tmp_path / "binary"
    paths["binary"].write_text("#!/no/such/interpreter\n")
    paths["binary"].chmod(0o755)
    done = _measure(this, peer.format(folder=tmp_path, **paths), only)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("VAL_SIZE 100", "VAL_SIZE 4", "-DCCBENCH_VAL_SIZE=100"),
        ("MASSTREE_USE 1", "MASSTREE_USE 0", "MASSTREE_USE=1"),
        ("ycsb_max_ope", "tpcc_num_wh", "max_ope"),
    ],
)
def test_a_build_for_other_records_is_refused(
    this: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    program = _program(tmp_path / "silo.exe", CCBENCH_YCSB.replace(old, new))
    done = _measure(this, f"ccbench={program}", "ycsb ordered 0 1t")
    assert done.returncode == 1
    assert message in done.stderr
    assert "throughput[tps]" in done.stderr  # the last lines of its output


def test_a_run_beyond_the_time_limit_is_killed_with_its_children(
    this: Path, tmp_path: Path
) -> None:
    program = _program(tmp_path / "dbtest", "sleep 100 & wait")
    start = time.monotonic()
    done = _measure(this, f"silo={program}", "tpcc full 1w 1t", "--timeout", 1)
    assert done.returncode == 1
    assert "killed after 1 s (--timeout)" in done.stderr
    assert time.monotonic() - start < 60  # its child held the output open


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--timeout", "0"], "--timeout 0: more than 0 is wanted"),
        (["--seconds", "nan"], "--seconds nan: more than 0 is wanted"),
        (["--tsc-mhz", "-1"], "--tsc-mhz -1: more than 0 is wanted"),
        (["--other", "silo=/bin/true"], "silo: two engines have this name"),
    ],
)
def test_an_invalid_option_is_one_sentence(
    this: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    program = _program(tmp_path / "dbtest", SILO)
    done = _run(this, "--peer", f"silo={program}", "--only", "tpcc full 1w 1t", *words)
    assert done.returncode == 1
    assert message in done.stderr


def test_a_clock_without_ticks_is_an_error() -> None:
    clock = TscClock(ticks=r"([0-9]+) ticks", milliseconds=r"([0-9]+) ms")
    assert clock.correction("2000000 ticks, 2 ms", tsc_mhz=1000) == pytest.approx(1)
    for output in ("2 ms", "2000 ticks", "0 ticks, 0 ms"):
        with pytest.raises(OutputError):
            clock.correction(output, tsc_mhz=1000)


def test_a_benchmark_runs_only_values_it_supports() -> None:
    benchmark = Benchmark("tpcc", ("-m{mix}", "-t{threads}"), "", words={"mix": {"full": "0"}})
    assert benchmark.runs({"name": "tpcc", "mix": "full"})
    assert not benchmark.runs({"name": "tpcc", "mix": "read_write"})
    assert not benchmark.runs({"name": "ycsb"})
    assert benchmark.command({"mix": "full", "threads": 2}) == ["-m0", "-t2"]
    assert list(benchmark.cells()) == ["tpcc full"]


def test_the_time_stamp_counter_is_measured() -> None:
    tsc.measured_mhz.cache_clear()
    if platform.machine() not in {"x86_64", "AMD64"}:
        with pytest.raises(tsc.NoTscError, match="has no time-stamp counter"):
            tsc.measured_mhz()
        return
    first = tsc.measured_mhz()
    tsc.measured_mhz.cache_clear()
    assert 100 < first < 10_000
    assert tsc.measured_mhz() == pytest.approx(first, rel=0.05)


def test_a_processor_without_the_counter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    tsc.measured_mhz.cache_clear()
    with pytest.raises(tsc.NoTscError, match="aarch64 has no time-stamp counter"):
        tsc.measured_mhz()


def test_the_processors_name_may_state_a_frequency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    monkeypatch.setattr(tsc, "_CPUINFO", cpuinfo)
    for text, expected in (
        ("model name\t: A CPU E5-2690 v4 @ 2.60GHz\ncpu MHz\t: 1200.0\n", 2600),
        ("model name\t: A CPU\ncpu MHz\t\t: 1200.0\n", 1000),
        ("", 1000),
    ):
        cpuinfo.write_text(text)
        assert tsc.named_mhz() == pytest.approx(expected)
    cpuinfo.unlink()
    assert tsc.named_mhz() == pytest.approx(1000)
