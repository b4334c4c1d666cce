"""The layers and models that the classes of a program are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import FunctionValue

_IS_BASE = re.compile(r"keras\.(.*\.)?(Layer|Model)").fullmatch
"""Also from where older versions keep them: keras.engine.topology.Layer."""


def calls_of_layers(facts: Facts) -> Iterator[FunctionValue]:
    """What the layers and models of a module's own classes do when they are called: call(), wherever it is defined."""
    for cls in facts.classes:
        bases = {names.canonical(base) for base in cls.outside_bases()}
        method = cls.lookup("call")
        if isinstance(method, FunctionValue) and any(names.is_layer(base) or _IS_BASE(base) for base in bases):
            yield method
