#!/usr/bin/env python
"""Which names and arguments in Python files does the installed TensorFlow not have?

    python tools/check_interfaces.py FILE...

Nothing of the files is run. Every name that an import binds to TensorFlow or Keras is looked up in the real package,
and every call of such a name, or of a method of a Keras model, is bound to the real signature; where a Keras class
takes `**kwargs`, a keyword must be a parameter of one of its base classes. Prints `FILE:LINE: what`, and counts.
Exit code 0: all there. 1: something is missing.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tfmigrate.understand import names
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.values import ModelObject, Parallel, options
from tfmigrate.walk import calls_in

_ROOTS = ("tensorflow", "keras", "tf_keras")
_LAYER_KEYWORDS = {"input_shape", "input_dim"}
"""What `keras.layers.Layer` takes out of `**kwargs` without naming it, with a warning (Keras 3.15)."""
_KEYWORDS_OF = {"LeakyReLU": {"alpha"}, "Embedding": {"input_length"}}
"""The same of single layers."""
MISSING = object()
"""Stands for what a name does not lead to."""


def missing(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, what is missing) for one source. Raises libcst.ParserSyntaxError."""
    module = Module(path, text)
    facts = interpret(Program([module])).modules[module]
    seen: set[tuple[int, str]] = set()
    for node, what in (*_imports(facts), *_names(facts), *_calls(facts), *_methods(facts)):
        found = facts.module.position(node)[0], what
        if found not in seen:
            seen.add(found)
            yield found


def lookup(name: str) -> object:
    """The object of a dotted name, modules imported on the way, or the object `MISSING`."""
    parts = name.split(".")
    found: object = importlib.import_module(parts[0])
    for position, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:position]))
            except ImportError:
                return MISSING
        except ImportError:  # A lazy module of TensorFlow whose package is not installed.
            return MISSING
    return found


def objection(function: object, call: cst.Call, bound: bool = False) -> str | None:
    """Why a call does not fit the signature, or None. `bound`: `function` still takes a `self`."""
    if any(arg.star for arg in call.args):
        return None
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    positional = [None] * (len([arg for arg in call.args if arg.keyword is None]) + bound)
    keywords = {arg.keyword.value: None for arg in call.args if arg.keyword is not None}
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        return str(error)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    if takes_any and isinstance(function, type) and function.__module__.split(".")[0] in ("keras", "tf_keras"):
        unknown = sorted(keywords.keys() - accepted(function))
        if unknown:
            return f"got an unexpected keyword argument {unknown[0]!r}"
    return None


def accepted(cls: type) -> set[str]:
    """The keywords that a class of Keras takes, through `**kwargs` of its base classes too."""
    import tensorflow as tf

    known = {name for base in cls.__mro__ for name in _parameters(base)}
    if issubclass(cls, tf.keras.Model):
        return known | {"inputs", "outputs", "name", "trainable"}  # Model itself takes *args and makes a Functional.
    if issubclass(cls, tf.keras.layers.Layer):
        return known | _LAYER_KEYWORDS | _KEYWORDS_OF.get(cls.__name__, set())
    return known


def _parameters(cls: type) -> list[str]:
    try:
        return list(inspect.signature(cls.__init__).parameters)
    except (TypeError, ValueError):
        return []


def _ours(name: str) -> bool:
    return name.split(".")[0] in _ROOTS


def _imports(facts: Facts) -> Iterator[tuple[cst.CSTNode, str]]:
    for unit in facts.module.places:
        for small in unit.body if isinstance(unit, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Import | cst.ImportFrom):
                for _, _, full in imports_of(small):
                    if _ours(full) and lookup(full) is MISSING:
                        yield small, full


def _names(facts: Facts) -> Iterator[tuple[cst.CSTNode, str]]:
    for node, name in facts.symbols.items():
        head = name.rpartition(".")[0]
        if isinstance(node, cst.Attribute) and _ours(name) and lookup(head) is not MISSING and lookup(name) is MISSING:
            yield node, name


def _calls(facts: Facts) -> Iterator[tuple[cst.CSTNode, str]]:
    for call in calls_in(facts.module.tree):
        name = facts.symbols.get(call.func, "")
        if _ours(name) and callable(found := lookup(name)):
            problem = objection(found, call)
            if problem is not None:
                yield call, f"{name}(): {problem}"


def _methods(facts: Facts) -> Iterator[tuple[cst.CSTNode, str]]:
    import tensorflow as tf

    for use in facts.uses:
        models = [o for o in options(use.receiver) if isinstance(o, ModelObject | Parallel)]
        own = any(isinstance(o, ModelObject) and o.instance is not None for o in models)
        if not models or own or len(models) != len(options(use.receiver)):
            continue
        built = [
            names.canonical(facts.symbols.get(m.node.func, ""))
            for m in models
            if isinstance(m, ModelObject) and isinstance(m.node, cst.Call)
        ]
        sequential = "keras.models.Sequential" in built
        method = getattr(tf.keras.Sequential if sequential else tf.keras.Model, use.method, MISSING)
        if method is MISSING:
            yield use.call, f"Model.{use.method}"
        elif (problem := objection(method, use.call, bound=True)) is not None:
            yield use.call, f"Model.{use.method}(): {problem}"


def main(paths: list[str]) -> int:
    counts: Counter[str] = Counter()
    for path in paths:
        for line, what in missing(path, Path(path).read_text(encoding="utf-8")):
            counts[what] += 1
            print(f"{path}:{line}: {what}")
    print(f"{counts.total()} uses of {len(counts)} names or arguments that are missing, in {len(paths)} files")
    for what, count in counts.most_common():
        print(f"{count:5} {what}")
    return 1 if counts else 0


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.exit(main(sys.argv[1:]))
