"""YAML whose words are text: `yes`, `no`, `on`, `010` and `1e3` are what they are in the log."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_MERGE = re.compile(r"^<<$")


class _TextLoader(yaml.SafeLoader):
    """Reads every plain word as text, but for null as a value and merged keys (`<<`)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping whose keys are text, and each there once but for what is merged."""
        own = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._wrong(node, key, "its key must be a word")
            if key.value in own:
                raise self._wrong(node, key, f"its key {key.value} is there twice")
            own.add(key.value)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}

    def _wrong(self, node: yaml.Node, key: yaml.Node, words: str) -> yaml.MarkedYAMLError:
        where = "while reading a mapping"
        return yaml.MarkedYAMLError(where, node.start_mark, words, key.start_mark)


_TextLoader.yaml_implicit_resolvers = {
    **{first: [("tag:yaml.org,2002:null", _NULL)] for first in ("~", "n", "N", "")},
    "<": [("tag:yaml.org,2002:merge", _MERGE)],
}


def load_text(text: str) -> Any:
    """The document, made of mappings, lists, text and None.

    Raises:
        yaml.YAMLError: it is not YAML, or a key is there twice.
    """
    return yaml.load(text, _TextLoader)
