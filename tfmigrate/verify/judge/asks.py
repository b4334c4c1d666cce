"""What an old script asks for, read from it: which Keras, Estimators, how many GPUs."""

from __future__ import annotations

import ast
from pathlib import Path

from tfmigrate.files import regular
from tfmigrate.files.scan import search
from tfmigrate.verify.run.program import last_name


def trains_estimators(script: Path, program: Path | None) -> bool:
    """Whether a file of the program distributes an Estimator, and the script itself wraps no model."""
    folder = program or script.resolve().parent
    return b"multi_gpu_model" not in regular.read(script) and any(
        file.path.endswith(".py") for file in search([str(folder)], (b"train_distribute",)).files
    )


def flavour_of(tree: ast.Module) -> str:
    """ "keras" for a script that imports standalone Keras, "tf.keras" for any other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "keras" for alias in node.names):
            return "keras"
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "keras":
            return "keras"
    return "tf.keras"


def replicas_written(tree: ast.Module) -> int | None:
    """The largest number of GPUs that a call of multi_gpu_model writes out, as a number or a list."""
    numbers = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) == "multi_gpu_model":
            arguments = [k.value for k in node.keywords if k.arg == "gpus"] + node.args[1:2]
            numbers += [_count(value) for value in arguments]
    return max((n for n in numbers if n >= 2), default=None)


def _count(value: ast.expr) -> int:
    if isinstance(value, ast.List | ast.Tuple):
        return len(value.elts)
    return value.value if isinstance(value, ast.Constant) and type(value.value) is int else 0
