"""Check the average sentence length of the pages: `make lint-prose` runs `python -m` this module.

The package `readability` counts the words. It expects one sentence per line, which `prose.py`
extracts. Code blocks, tables and headings are left out, and a colon ends a sentence.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from readability import getmeasures

from tests.docs.prose import LONGEST_AVERAGE, LONGEST_LINE, PAGES, ROOT, read

LONGEST_LISTED = 3


def words_per_sentence(sentences: list[str]) -> float:
    """Return the average number of words per sentence."""
    return getmeasures(sentences, lang="en")["sentence info"]["words_per_sentence"]


def failure(page: str, sentences: list[str]) -> str:
    """Return a message with the average of a page and its longest sentences, or an empty string."""
    average = words_per_sentence(sentences)
    if average <= LONGEST_AVERAGE:
        return ""
    by_length = sorted(((words_per_sentence([text]), text) for text in sentences), reverse=True)
    longest = "".join(
        f"\n  {words:.0f} words: {text}" for words, text in by_length[:LONGEST_LISTED]
    )
    return (
        f"{page}: {average:.1f} words per sentence, at most {LONGEST_AVERAGE} are allowed; "
        f"its longest sentences are:{longest}"
    )


def main(pages: list[Path] = PAGES) -> int:
    """Print the averages, and the failures to stderr; returns the exit status."""
    parser = argparse.ArgumentParser(description="Check the average sentence length of the pages.")
    parser.add_argument("--all", action="store_true", help="list all pages by their average")
    arguments = parser.parse_args()

    prose = {
        str(path.relative_to(ROOT)): read(path.read_text(encoding="utf-8"), LONGEST_LINE).sentences
        for path in pages
    }
    averages = {page: words_per_sentence(sentences) for page, sentences in prose.items()}
    overall = words_per_sentence([text for sentences in prose.values() for text in sentences])
    highest = sorted(averages, key=lambda page: -averages[page])
    if arguments.all:
        for page in highest:
            print(f"  {averages[page]:5.1f}  {page}")
    print(
        f"words per sentence: {overall:.1f} over {len(prose)} pages, "
        f"{averages['README.md']:.1f} in README.md, "
        f"at most {averages[highest[0]]:.1f} ({highest[0]})"
    )
    failures = [text for page in prose if (text := failure(page, prose[page]))]
    print("\n".join(failures), end="\n" if failures else "", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
