"""Files with a classifier, for runs and policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from policies import PolicyFileError
from policies.format import read_text
from policies.json_text import DocumentKind, parse
from trainer.checkpoint import write_atomically

SCHEMA_VERSION = 1
KIND = "heddle.classifier"
CLASSIFIER = DocumentKind(
    name="a classifier",
    shape="one JSON object",
    cure="make one with `heddle lab classify`",
    file="classifier.json",
    mib_max=16,
)


def save_classifier(
    path: Path, workload: str, classifier: Mapping[str, Any], provenance: Mapping[str, Any]
) -> None:
    """Write a classifier, atomically.

    Args:
        path: the file.
        workload: the name of the workload that it is for.
        classifier: as in a policy's file.
        provenance: of the classifier.

    Raises:
        OSError: it can't be written; the old file stays.
    """
    document = {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "workload": workload,
        "classifier": classifier,
        "provenance": provenance,
    }
    write_atomically(path, json.dumps(document) + "\n")


def read_classifier(path: Path) -> Any:
    """Read a classifier: the value of `schedule.classifier` in a policy's file.

    The engine, which knows the workload, checks its content.

    Raises:
        PolicyFileError: the file is missing, or another kind of document.
    """
    document = parse(read_text(path, CLASSIFIER), str(path), CLASSIFIER)
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind != KIND:
        raise PolicyFileError(
            f"{path}: its kind is not {KIND}, so it is not a classifier; {CLASSIFIER.cure}"
        )
    if document.get("schema_version") != SCHEMA_VERSION:
        raise PolicyFileError(
            f"{path}: its schema_version is {document.get('schema_version')}; this release reads "
            f"{SCHEMA_VERSION}; {CLASSIFIER.cure}"
        )
    if "classifier" not in document:
        raise PolicyFileError(f"{path}: has no field 'classifier'; {CLASSIFIER.cure}")
    return document["classifier"]
