"""Reads YAML whose words are text: `yes`, `no`, `on`, `010` and `1e3` keep their spelling."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_NULL_TAG = "tag:yaml.org,2002:null"
_MERGE = re.compile(r"^<<$")


_TAGS = {
    yaml.ScalarNode: ("tag:yaml.org,2002:str", _NULL_TAG, "tag:yaml.org,2002:merge"),
    yaml.SequenceNode: ("tag:yaml.org,2002:seq",),
    yaml.MappingNode: ("tag:yaml.org,2002:map",),
}


class _TextLoader(yaml.SafeLoader):
    """Loads each word as text, except null as the value of a key, and merged keys (`<<`)."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return a word, list or mapping; tags can't change the type."""
        if node.tag not in _TAGS[type(node)]:
            where = "while reading a value"
            words = f"{node.tag.replace('tag:yaml.org,2002:', '!!')} is not a tag of a mapping"
            raise yaml.MarkedYAMLError(where, node.start_mark, f"{words}; leave it out")
        if isinstance(node, yaml.ScalarNode):
            return None if node.tag == _NULL_TAG else self._text(node)
        return super().construct_object(node, deep)

    def construct_sequence(self, node: yaml.SequenceNode, deep: bool = False) -> list[Any]:
        """Return a list, in which null is a word: [NULL, '-']."""
        return [
            self._text(item)
            if isinstance(item, yaml.ScalarNode) and item.tag == _NULL_TAG
            else self.construct_object(item, deep=True)
            for item in node.value
        ]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping with unique text keys, unless they are merged."""
        own = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._wrong(node, key, "its key must be a word")
            if key.value in own:
                raise self._wrong(node, key, f"its key {key.value} occurs twice")
            own.add(key.value)
        self.flatten_mapping(node)
        return {
            self._text(key): self.construct_object(value, deep=True) for key, value in node.value
        }

    def _text(self, node: yaml.ScalarNode) -> str:
        text = str(node.value)
        if any("\ud800" <= letter < "\ue000" for letter in text):
            words = "lone surrogate, which no log contains"
            raise yaml.MarkedYAMLError("while reading a word", node.start_mark, words)
        return text

    def _wrong(self, node: yaml.Node, key: yaml.Node, words: str) -> yaml.MarkedYAMLError:
        where = "while reading a mapping"
        return yaml.MarkedYAMLError(where, node.start_mark, words, key.start_mark)


_TextLoader.yaml_implicit_resolvers = {
    **{first: [(_NULL_TAG, _NULL)] for first in ("~", "n", "N", "")},
    "<": [("tag:yaml.org,2002:merge", _MERGE)],
}


def load_text(text: str) -> Any:
    """Parse a document of mappings, lists, text and None.

    Raises:
        yaml.YAMLError: it is not YAML, or a key occurs twice.
    """
    try:
        return yaml.load(text, _TextLoader)
    except (ValueError, OverflowError) as error:  # such as "\U99999999"
        raise yaml.YAMLError(str(error)) from None
