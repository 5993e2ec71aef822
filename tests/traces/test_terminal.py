"""Standard output in other encodings, with control characters, full, and closed."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from traces.spelling import visible
from traces.terminal import OutputError, Terminal, report_unraisable

START = "from trainer.command.main import main; main()"


def written(text: str, encoding: str = "utf-8", *, moving: bool = False) -> str:
    """Return the text that a terminal with an encoding receives."""
    raw = io.BytesIO()
    terminal = Terminal(io.TextIOWrapper(raw, encoding=encoding), moving=moving, needed=True)
    terminal.write(text)
    terminal.flush()
    return raw.getvalue().decode(encoding)


class Full(io.RawIOBase):
    """A full disk."""

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        raise OSError(28, os.strerror(28))


@pytest.mark.parametrize(
    ("text", "ascii_", "latin"),
    [
        ("2 × 3 µs – 4", "2 x 3 us - 4", "2 × 3 µs – 4"),
        ("± 0.3%, a → b …", "+- 0.3%, a -> b ...", "± 0.3%, a -> b ..."),
        ("┏━┓│╇⠋", "+-+|+*", "+-+|+*"),
        ("jürgen, 漢", "j\\xfcrgen, \\u6f22", "jürgen, \\u6f22"),
        ("not UTF-8: \udcff", "not UTF-8: \\xff", "not UTF-8: \\xff"),
    ],
)
def test_missing_characters_are_replaced(text: str, ascii_: str, latin: str) -> None:
    assert written(text, "ascii") == ascii_
    assert written(text, "latin-1") == latin.replace("–", "-")
    assert written(text) == text.replace("\udcff", "\\xff")


@pytest.mark.parametrize(
    "hostile",
    ["\x1b]0;title\x07", "\x1bP+q\x1b\\", "\x1b[2J", "a\rb", "a\x08b", "\x9b2J", "\u202eabc"],
)
def test_control_characters_are_escaped(hostile: str) -> None:
    assert written(f"name {hostile}\n").isprintable() is False  # because of its line break
    assert written(f"name {hostile}\n")[:-1].isprintable()
    assert visible(hostile).isprintable()
    assert visible("a\nb") == "a\\nb"


def test_colours_and_line_breaks_pass() -> None:
    assert written("\x1b[1mbold\x1b[0m\t1\r\n") == "\x1b[1mbold\x1b[0m\t1\r\n"


def test_only_sequences_of_a_progress_bar_pass() -> None:
    assert written("\r\x1b[2K\x1b[1A\x1b]0;x\x07", moving=True) == "\r\x1b[2K\x1b[1A\\x1b]0;x\\x07"


def test_a_full_output_is_reported_once() -> None:
    terminal = Terminal(io.TextIOWrapper(io.BufferedWriter(Full())), moving=False, needed=True)
    terminal.write("text")
    with pytest.raises(OutputError, match="No space left on device; free disk space there"):
        terminal.flush()
    terminal.write("more")
    terminal.flush()
    assert terminal.lost


def test_an_unwritable_progress_bar_is_ignored() -> None:
    terminal = Terminal(io.TextIOWrapper(io.BufferedWriter(Full())), moving=False, needed=False)
    terminal.write("text")
    terminal.flush()
    assert terminal.lost


def heddle(arguments: Sequence[str], redirected: str) -> tuple[int, str]:
    """Return the exit code of the command in a shell, and its standard error."""
    ran = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", START, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stderr


@pytest.mark.parametrize(
    ("redirected", "reason"),
    [(">/dev/full", "No space left on device; free disk space there"), (">&-", "it is closed")],
)
@pytest.mark.slow
def test_an_unwritable_output_is_one_message(redirected: str, reason: str) -> None:
    code, error = heddle(["--version"], redirected)
    assert (code, error) == (1, f"error: standard output can't be written: {reason}\n")


def test_a_closed_standard_error_is_ignored() -> None:
    assert heddle(["--version"], ">/dev/null 2>&-") == (0, "")


def unread(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the output of the command while its standard error is not read."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", START, *arguments],
            stdout=subprocess.PIPE,
            stderr=writer,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    return ran.returncode, ran.stdout


@pytest.mark.slow
def test_an_unread_progress_bar_loses_no_results(tmp_path: Path) -> None:
    where = ["machine=virtual", "machine.cores=2", "workload=ycsb", "workload.records=200"]
    length = ["run.repeats=1", "run.seconds=0.0001", "run.warmup=0"]
    results = tmp_path / "results.json"
    code, output = unread("evaluate", "policy=silo,occ", *where, *length, f"output={results}")
    assert code == 0
    assert f"results: {results}" in output
    assert [one["policy"] for one in json.loads(results.read_text())["results"]] == ["silo", "occ"]


def test_an_unread_message_keeps_its_exit_code() -> None:
    assert unread("nonsense") == (2, "")
    assert unread("policy", "show", "nonsense") == (2, "")


def test_an_unread_output_ends_the_command() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-c", START, "policy", "show", "ic3"]
    ran = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (1, "")


class Collected:
    """Raises an error when it is collected."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize(("number", "told"), [(errno.ENOSPC, False), (errno.EBADF, True)])
def test_a_full_disk_is_reported_once(
    number: int, told: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", report_unraisable)
    Collected(number)
    assert ("Exception ignored" in capsys.readouterr().err) == told
