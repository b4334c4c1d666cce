"""Code that asks first what the library has: under a test of its version, a hasattr, a `try` that expects the lack."""

from __future__ import annotations

import re

import libcst as cst

from tfmigrate.understand.program import Module, dotted
from tfmigrate.walk import children, walk

_ASKS = re.compile(
    r"version|hasattr|getattr|\bdir\(|\bin globals|sys\.modules|find_spec|importlib|eager|legacy|compat|backend"
    r"|\bis_\w*available|(tf|keras|tensorflow)_?[123]\b|_v[12]\b",
    re.IGNORECASE,
)
_SKIPS = re.compile(r"skip|version|requires|hasattr|eager|_only|only_|_v[12]\b", re.IGNORECASE)
"""What a decorator is called that keeps a function from some versions; Keras 2 has others called `legacy_...`."""
_EXPECTS = re.compile(r"ImportError|ModuleNotFoundError|AttributeError|TypeError|NameError|\bException|BaseException")
_KINDS = frozenset(
    (
        cst.Try, cst.TryStar, cst.If, cst.IfExp, cst.BooleanOperation, cst.Assert, cst.With, cst.FunctionDef,
        cst.ClassDef,
    )
)  # fmt: skip
"""What can be a guard; looked up, because isinstance is slow on nodes."""
_STOPS = (cst.Return, cst.Raise, cst.Continue, cst.Break)


def guarded(module: Module) -> frozenset[cst.CSTNode]:
    """Every node of a module that runs only where such a test allows it, or whose failure is caught."""
    guards: set[cst.CSTNode] = set()
    _read(module.tree, module, guards)
    return frozenset(guards)


def _read(node: cst.CSTNode, module: Module, guards: set[cst.CSTNode]) -> None:
    if type(node) in _KINDS and _is_guard(node, module):
        guards.update(walk(node))
        return
    parts = children(node)
    in_block = type(node) in (cst.Module, cst.IndentedBlock)
    for position, part in enumerate(parts):
        _read(part, module, guards)
        if in_block and type(part) is cst.If and part in guards and _stops(part):
            for rest in parts[position + 1 :]:
                guards.update(walk(rest))
            return


def _is_guard(node: cst.CSTNode, module: Module) -> bool:
    if isinstance(node, cst.Try | cst.TryStar):
        return any(handler.type is None or _EXPECTS.search(module.code(handler.type)) for handler in node.handlers)
    if isinstance(node, cst.If | cst.IfExp):
        return _ASKS.search(module.code(node.test)) is not None
    if isinstance(node, cst.BooleanOperation):
        return _ASKS.search(module.code(node.left)) is not None
    if isinstance(node, cst.Assert):
        return _ASKS.search(module.code(node.test)) is not None
    if isinstance(node, cst.With):
        return any(_EXPECTS.search(module.code(item.item)) is not None for item in node.items)
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        return any(_SKIPS.search(module.code(decorator.decorator)) for decorator in node.decorators)
    return False


def _stops(node: cst.If) -> bool:
    """Whether what stands after an `if` runs only where one of its arms did not."""
    body = node.body.body
    last = body[-1] if body else None
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) and last.body else last
    if isinstance(small, _STOPS):
        return True
    if not isinstance(small, cst.Expr) or not isinstance(small.value, cst.Call):
        return False
    return re.search(r"exit|skip|fail", dotted(small.value.func)) is not None
