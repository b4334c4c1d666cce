"""Code that asks first what the library has: under a test of its version, a hasattr, a `try` that expects the lack."""

from __future__ import annotations

import re
from functools import lru_cache

import libcst as cst

from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.import_statements import imports_at
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import children, nodes_in, walk

_ASKS = re.compile(
    r"version|hasattr|getattr|\bdir\(|\bin globals|sys\.modules|find_spec|importlib|eager|legacy|compat"
    r"|\b(keras_)?backend\b(?!\.)"
    r"|\bis_\w*available|(tf|keras|tensorflow)_?[123]\b|_v[12]\b",
    re.IGNORECASE,
)
_OF_BACKEND = re.compile(
    r"""\w*\bbackend\(\)\s*(?:[!=]=|is(?:\s+not)?)\s*["']\w+["']"""
    r"""|["']\w+["']\s*(?:[!=]=|is(?:\s+not)?)\s*[\w.]*\bbackend\(\)"""
)
_SKIPS = re.compile(r"skip|version|requires|hasattr|eager|_only|only_|_v[12]\b", re.IGNORECASE)
"""What a decorator is called that keeps a function from some versions; Keras 2 has others called `legacy_...`."""
_LACKS = re.compile(r"ImportError|ModuleNotFoundError|AttributeError|TypeError|NameError")
_EXPECTS = re.compile(rf"{_LACKS.pattern}|\bException|BaseException")
_FEW = 2
"""Statements that may be an attempt at something, and not a part of a program that is kept from stopping."""
_KINDS = frozenset(
    (
        cst.Try, cst.TryStar, cst.If, cst.IfExp, cst.BooleanOperation, cst.Assert, cst.With, cst.FunctionDef,
        cst.ClassDef,
    )
)  # fmt: skip
"""What can be a guard; looked up, because isinstance is slow on nodes."""
_ARMED = frozenset((cst.If, cst.IfExp))
_SAME = (cst.Equal, cst.Is)
_OTHER = (cst.NotEqual, cst.IsNot)


@lru_cache(maxsize=1)  # The rules ask for it of one module after the other.
def guarded(module: Module) -> frozenset[cst.CSTNode]:
    """Every node of a module that runs only where such a test allows it, or whose failure is caught.

    A test of Keras's backend allows what is for TensorFlow, and keeps out what is for another backend.
    """
    guards: set[cst.CSTNode] = set()
    _read(module.tree, module, guards)
    return frozenset(guards)


def _read(node: cst.CSTNode, module: Module, guards: set[cst.CSTNode]) -> None:
    if type(node) in _KINDS and _is_guard(node, module):
        test = node.test if isinstance(node, cst.If | cst.IfExp | cst.Assert) else None
        asked = set(walk(test)) if test is not None else frozenset()
        guards.update(part for part in walk(node) if part not in asked)
        if test is not None:
            _read(test, module, guards)
        return
    elsewhere = _for_another_backend(node) if type(node) in _ARMED else None  # type: ignore[arg-type]
    if elsewhere is not None:
        guards.update(walk(elsewhere))
    parts = children(node)
    in_block = type(node) in (cst.Module, cst.IndentedBlock)
    for position, part in enumerate(parts):
        if part is not elsewhere:
            _read(part, module, guards)
        if not in_block or type(part) is not cst.If or not _stops(part, module):
            continue
        if part in guards or _is_for_tensorflow(part.test):
            for rest in parts[position + 1 :]:
                guards.update(walk(rest))
            return


def _for_another_backend(node: cst.If | cst.IfExp) -> cst.CSTNode | None:
    """The arm of `if K.backend() == "tensorflow":` that never runs on TensorFlow."""
    on_tensorflow = _is_for_tensorflow(node.test)
    if on_tensorflow is None:
        return None
    return node.orelse if on_tensorflow else node.body


def _is_for_tensorflow(test: cst.BaseExpression) -> bool | None:
    """What a test such as `K.backend() == "tensorflow"` gives on TensorFlow; None where that is not known."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        denied = _is_for_tensorflow(test.expression)
        return None if denied is None else not denied
    if isinstance(test, cst.BooleanOperation):
        decides = isinstance(test.operator, cst.Or)
        sides = {_is_for_tensorflow(side) for side in (test.left, test.right)}
        return decides if decides in sides else None if None in sides else not decides
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    (compared,) = test.comparisons
    if not isinstance(compared.operator, (*_SAME, *_OTHER)):
        return None
    for called, other in ((test.left, compared.comparator), (compared.comparator, test.left)):
        if _asks_for_backend(called) and isinstance(other, cst.SimpleString):
            return (other.evaluated_value == "tensorflow") == isinstance(compared.operator, _SAME)
    return None


def _asks_for_backend(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Attribute):
        return node.attr.value in ("_BACKEND", "_backend")
    return isinstance(node, cst.Call) and not node.args and dotted(node.func).rpartition(".")[2] == "backend"


def _is_guard(node: cst.CSTNode, module: Module) -> bool:
    if isinstance(node, cst.Try | cst.TryStar):
        return _is_attempt(node, module)
    if isinstance(node, cst.If | cst.IfExp | cst.Assert):
        return _asks(node.test, module)
    if isinstance(node, cst.BooleanOperation):
        return _asks(node.left, module)
    if isinstance(node, cst.With):
        return any(_EXPECTS.search(module.code(item.item)) is not None for item in node.items)
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        return any(_SKIPS.search(module.code(decorator.decorator)) for decorator in node.decorators)
    return False


def _is_attempt(tried: cst.Try | cst.TryStar, module: Module) -> bool:
    """Whether a `try` expects that something is not there. One that takes any error may go round a whole training."""
    kinds = [module.code(handler.type) if handler.type is not None else "BaseException" for handler in tried.handlers]
    if any(_LACKS.search(kind) for kind in kinds):
        return True
    if not any(_EXPECTS.search(kind) for kind in kinds):
        return False
    units = units_of(tried.body)
    if all(imports_at(unit) for unit in units) or any(
        isinstance(part, cst.Import | cst.ImportFrom) for handler in tried.handlers for part in walk(handler.body)
    ):
        return True
    return len(units) <= _FEW and not any(isinstance(unit, cst.BaseCompoundStatement) for unit in units)


def _asks(test: cst.BaseExpression, module: Module) -> bool:
    """Whether a condition asks for a version; not `name == "mobilenet_v2"`, which asks for a network."""
    code = _OF_BACKEND.sub("", module.code(test))
    for comparison in nodes_in(test, cst.Comparison):
        for side in (comparison.left, *(target.comparator for target in comparison.comparisons)):
            for text in nodes_in(side, cst.SimpleString) if isinstance(side, _TEXTS) else ():
                code = code.replace(text.value, "")
    return _ASKS.search(code) is not None


_TEXTS = (cst.SimpleString, cst.List, cst.Tuple, cst.Set)


def _stops(node: cst.If, module: Module) -> bool:
    """Whether what stands after an `if` runs only where one of its arms did not."""
    last = only_statement(units_of(node.body)[-1]) if units_of(node.body) else None
    called = last.value.func if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call) else None
    return module.leaves(node.body) or re.search(r"exit|skip|fail", dotted(called)) is not None
