"""`__all__`: the names that `from module import *` brings."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.understand.module import Module


def lists_of_exports(module: Module) -> Iterator[cst.List | cst.Tuple]:
    """The lists and tuples of names that `__all__` is set to, or grows by, as they are written."""
    if "__all__" not in module.text:
        return
    for node in module.all_of(cst.Assign, cst.AugAssign):
        targets = [node.target] if isinstance(node, cst.AugAssign) else [one.target for one in node.targets]
        if any(isinstance(target, cst.Name) and target.value == "__all__" for target in targets):
            if isinstance(node.value, cst.List | cst.Tuple):
                yield node.value
