"""`make lint-prose` fails with the page, the average and the longest sentences."""

from __future__ import annotations

import pytest

from tests.docs.lint_prose import failure, words_per_sentence
from tests.docs.prose import read


def test_a_sentence_is_as_long_as_its_words() -> None:
    sentences = read("One CODE `a.b c` more. Two words: three - 3.5.", 100).sentences
    assert words_per_sentence(sentences) == pytest.approx((4 + 2 + 2) / 3)


def test_a_page_of_long_sentences_fails() -> None:
    long = " ".join(f"word{number}" for number in range(38))
    found = failure("docs/some.md", [long, "A short one"])
    assert found.startswith("docs/some.md: 20.5 words per sentence, at most 20 are allowed")
    assert f"\n  38 words: {long}\n  3 words: A short one" in found


def test_a_page_of_short_sentences_passes() -> None:
    assert failure("docs/some.md", [" ".join(["word"] * 20)]) == ""
