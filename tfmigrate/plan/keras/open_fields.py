"""The fields in the file name of a checkpoint that the callback fills in from the logs: `{val_acc:.2f}`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import libcst as cst

from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes

Text = cst.SimpleString | cst.FormattedString


class OpenFields:
    """What such names read with the keys that the logs have today."""

    def __init__(self, facts: Facts, scopes: Scopes, keys: Mapping[str, str]) -> None:
        """`keys`: what `callbacks.changed_keys` gives."""
        self._facts, self._scopes, self._keys = facts, scopes, keys

    @cached_property
    def templates(self) -> frozenset[cst.CSTNode]:
        """The texts that format() is called on: it fills in their fields, and leaves the doubled ones open."""
        calls = self._facts.module.calls
        return frozenset(found for call in calls if (found := template_of(call, self._scopes)) is not None)

    def today(self, node: Text, *, as_it_is: bool = False) -> str:
        """The code of a text with its open fields under today's keys.

        `as_it_is`: the callback is given the text itself, whatever else is done with it.
        """
        if isinstance(node, cst.FormattedString):
            code = self._facts.module.code
            parts = (
                self._renamed(part.value, doubled=True) if isinstance(part, cst.FormattedStringText) else code(part)
                for part in node.parts
            )
            return node.start + "".join(parts) + node.end
        return self._renamed(node.value, doubled=node in self.templates and not as_it_is)

    def _renamed(self, text: str, *, doubled: bool) -> str:
        start, end = ("{{", "}}") if doubled else ("{", "}")
        for old, new in self._keys.items():
            text = text.replace(f"{start}{old}:", f"{start}{new}:").replace(f"{start}{old}{end}", f"{start}{new}{end}")
        return text


def template_of(node: cst.BaseExpression, scopes: Scopes) -> cst.BaseExpression | None:
    """What format() is called on; None for another expression."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return settled(node.func.value, scopes)
    return None
