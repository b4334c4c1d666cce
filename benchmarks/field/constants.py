"""Gives names in a script other values: fewer epochs, smaller pictures, two GPUs in the place of eight."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path


def give(path: Path, values: Mapping[str, str]) -> None:
    """Rewrites every `name = ...` and every default of a parameter of that name in the file; `values` are expressions.

    Raises ValueError for a name that is neither, and for a file that does not parse.
    """
    text = path.read_bytes()
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ValueError(str(error)) from None
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    changes = {}
    for name, node in _values(tree):
        if name in values and node.end_lineno is not None and node.end_col_offset is not None:
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            changes[begin, end] = (name, values[name].encode())
    missing = set(values) - {name for name, _ in changes.values()}
    if missing:
        raise ValueError(f"nothing is named {', '.join(sorted(missing))}")
    for (begin, end), (_, value) in sorted(changes.items(), reverse=True):
        text = text[:begin] + value + text[end:]
    path.write_bytes(text)


def _values(tree: ast.AST) -> list[tuple[str, ast.expr]]:
    found: list[tuple[str, ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            found += [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
            for target in node.targets:  # `rows, columns = 320, 320`
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts)
                    found += [(one.id, value) for one, value in pairs if isinstance(one, ast.Name)]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = node.args
            plain = given.posonlyargs + given.args
            found += [(one.arg, value) for one, value in zip(plain[len(plain) - len(given.defaults) :], given.defaults)]
            found += [(one.arg, value) for one, value in zip(given.kwonlyargs, given.kw_defaults) if value is not None]
    return found
