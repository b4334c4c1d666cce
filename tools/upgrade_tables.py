#!/usr/bin/env python
"""The tables of TensorFlow 1 in rules/: what `tf_upgrade_v2` renames, as far as today's TensorFlow has an equal.

    python tools/upgrade_tables.py    prints the rows of rules/TFM225

Run it with a Python that has TensorFlow: the tables are those of its package `tensorflow.tools.compatibility`, which is
read without importing TensorFlow. A row is printed where the index of public names (tools/index_names.py) has the old
name in TensorFlow 1.15 alone and the new one in the newest version. A new name whose parameters are not those of the
old one, in their order, is another function: the old one is taken from `tensorflow.compat.v1` then.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tfmigrate import rules
from tfmigrate.plan import codes
from tfmigrate.plan.names.public_names import PublicNames

INDEX = PublicNames()
OLD, NEW = (INDEX.versions("tensorflow")[place] for place in (0, -1))
COMPUTING = frozenset({
    "bitwise", "debugging", "dtypes", "errors", "gfile", "image", "initializers", "io", "linalg", "logging", "math",
    "nn", "quantization", "random", "sets", "signal", "sparse", "strings",
})  # fmt: skip
"""Modules of tf.compat.v1 whose functions do without a graph or a session of one's own."""
OF_GRAPHS = re.compile(
    "accumulator|add_check|collection|colocate|container|control|disable_|enable_|fetch|gradient|graph|hessian|"
    "initialize|meta|NodeDef|op_scope|Options|partitioner|placeholder|proto|py_func|queue|reader|rnn|session|template|"
    "variable|while_loop|wrap_function",
    re.IGNORECASE,
)
"""What only means something in a graph, among the functions that stand in TensorFlow 1 itself and in `nn`."""


def upgrade_spec() -> Any:
    """The tables of tf_upgrade_v2. Its module asks for packages that only its own rewriting needs."""
    found = importlib.util.find_spec("tensorflow")
    assert found is not None
    assert found.submodule_search_locations
    for name in ("tensorflow", "tensorflow.tools", "tensorflow.tools.compatibility"):
        package = ModuleType(name)
        package.__path__ = [str(Path(found.submodule_search_locations[0], *name.split(".")[1:]))]
        sys.modules[name] = package
    sys.modules["pasta"] = ModuleType("pasta")
    return importlib.import_module("tensorflow.tools.compatibility.tf_upgrade_v2").TFAPIChangeSpec()


def full(name: str) -> str:
    """`tf.log` as `tensorflow.log`."""
    return "tensorflow" + name.removeprefix("tf")


def parameters(name: str, version: str) -> tuple[str, ...] | None:
    entry = INDEX.entry(name, version)
    return entry.keywords if entry is not None else None


def names(spec: Any) -> Iterator[tuple[str, str]]:
    """(old, new) of every name that TensorFlow 2 has elsewhere."""
    others = (rule for rule in rules.all_rules() if rule.code != codes.TENSORFLOW_1)
    said = {row.old for rule in others for row in rule.renames if row.kind in ("gone", "name", "module")}
    for short, new in sorted(spec.symbol_renames.items()):
        old = full(short)
        heads = {old[:end] for end, sign in enumerate(old + ".") if sign == "."}
        if not short.startswith("tf.") or short.startswith(("tf.keras.", "tf.contrib.")) or heads & said:
            continue
        if INDEX.entry(old, OLD) is None or INDEX.entry(old, NEW) is not None:
            continue
        here = full(new)
        if "compat.v1" in new or parameters(here, NEW) != parameters(old, OLD):
            here = old.replace("tensorflow.", "tensorflow.compat.v1.", 1)
            head, _, last = old.removeprefix("tensorflow.").rpartition(".")
            if (head and head not in COMPUTING) or OF_GRAPHS.search(last):
                continue
        if INDEX.entry(here, NEW) is not None:
            yield old, here


def arguments(spec: Any) -> Iterator[tuple[str, str, str]]:
    """(function, old keyword, new keyword), of functions that have kept their names."""
    for short, renamed in sorted(spec.function_keyword_renames.items()):
        if not short.startswith("tf."):
            continue
        of = full(short)
        before, after = parameters(of, OLD) or (), parameters(of, NEW) or ()
        for old, new in renamed.items():
            if old in before and old not in after and new in after:
                yield of, old, new


def main() -> None:
    spec = upgrade_spec()
    for old, new in names(spec):
        print(f'    {{ kind = "name", old = "{old}", new = "{new}" }},')
    for of, old, new in arguments(spec):
        print(f'    {{ kind = "argument", of = "{of}", old = "{old}", new = "{new}" }},')


if __name__ == "__main__":
    main()
