"""What a script imports in any case, and its interpreter lacks: known before anything is run."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

from tfmigrate.verify.run.outcome import PACKAGES
from tfmigrate.verify.run.packages import NOT_WANTED, imports_of, lacking_in
from tfmigrate.verify.run.program import program_of, tree_of
from tfmigrate.verify.run.world import World

_FINDS_MORE = re.compile(rb"\bsys\s*\.\s*(path|modules|meta_path)\b|\bfrom\s+sys\s+import\b|\baddsitedir\b|\bpip\b")
"""A program that installs something, or says itself where modules are: only its run shows what it lacks."""
_COMPILED = ("*.so", "*.pyd", "*.pyc")


def lacked_by(world: World) -> tuple[str, ...]:
    """The modules without which a world's script cannot start; none where that cannot be known without running it."""
    if world.setup is not None or "PYTHONPATH" in world.environment:
        return ()
    own = (world.home, world.source, world.source / world.start)
    with suppress(OSError):
        program = program_of(world.source, world.script, world.home, surely_run)
        if any(map(_FINDS_MORE.search, program.values())):
            return ()
        sure = {path: surely_run(source) for path, source in program.items()}
        compiled = {file.name.split(".")[0] for folder in own for kind in _COMPILED for file in folder.glob(kind)}
        wanted = [name for name in imports_of(sure, own, world.stubs) if name not in NOT_WANTED | compiled]
        return tuple(lacking_in(world.runtime, wanted))
    return ()


def surely_run(source: bytes) -> bytes:
    """The imports of a module that are made whenever it is loaded: those that stand in no block."""
    imports = [node for node in tree_of(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return ast.unparse(ast.Module(body=imports, type_ignores=[])).encode()  # type: ignore[arg-type]


def why_it_cannot_start(world: World) -> str:
    """What a script's interpreter lacks, and what to do about it; empty where it may start."""
    lacking = lacked_by(world)
    if not lacking:
        return ""
    packages = " ".join(dict.fromkeys(PACKAGES.get(name, name) for name in lacking))
    return (
        f"{world.role}: {world.script} imports {', '.join(lacking)}, which {world.runtime.label} lacks, so nothing "
        f"was run; if it is a package: uv pip install --python {world.runtime.python} {packages}; if it is a file of "
        "the program, pass its folder with --cwd"
    )
