"""From what the command line names to what is verified: scripts, modules, notebooks, drivers, migrated copies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tfmigrate import migrate
from tfmigrate.errors import UserError
from tfmigrate.files.regular import LARGEST, read, require
from tfmigrate.files.scan import NOTEBOOK
from tfmigrate.settings import Settings
from tfmigrate.verify.run.program import program_of
from tfmigrate.verify.run.scratch import copy_program
from tfmigrate.verify.run.world import Limits


@dataclass(frozen=True)
class Program:
    """A program on disk and where it begins."""

    root: Path
    """Copied whole."""
    script: Path
    as_module: bool = False


@dataclass(frozen=True)
class Named:
    """What the command line names."""

    old: Path
    """A script, a notebook, a module by its dotted name; with `module` or `driver` a folder."""
    new: Path | None = None
    """The same; None for a migrated copy."""
    module: str | None = None
    driver: Path | None = None
    program: Path | None = None
    start: Path | None = None


def resolve(named: Named, settings: Settings, scratch: Path) -> tuple[Program, Program, Path | None]:
    """(old program, new one, where both start in the old one's folder; None for their own place).

    Copies that it takes are made in `scratch`. Raises UserError for what is not there, and where a copy cannot be
    migrated.
    """
    root = named.program or named.start
    if named.driver is not None and named.new is not None:
        raise UserError("--driver is migrated with the program's copy; leave out NEW")
    old = _found(named.old, named, root)
    if root is not None and not old.script.resolve().is_relative_to(root.resolve()):
        raise UserError(f"{named.old} is not in {root}, the folder given for the program")
    new = None if named.new is None else _beside(_found(named.new, named, root), old)
    start = named.start or named.program
    if NOTEBOOK in (old.script.suffix, new.script.suffix if new else ""):
        if root is not None:
            raise UserError("verify runs a notebook in its own folder; leave out --program and --cwd")
        new = new or _migrated(named, old, settings, scratch)
        return _as_script(old, scratch / "old"), _as_script(new, scratch / "new"), None
    if named.driver is not None:
        old, start = _with_driver(old, named.driver, scratch / "driven"), _moved(start, old.root, scratch / "driven")
    return old, new or _migrated(named, old, settings, scratch), start


def _found(name: Path, named: Named, root: Path | None) -> Program:
    if named.driver is not None:
        if not name.is_dir():
            raise UserError(f"{name}: --driver takes the program's folder as OLD")
        require(named.driver, LARGEST)
        return Program(name.resolve(), name.resolve() / named.driver.name)
    if named.module is not None:
        if not name.is_dir():
            raise UserError(f"{name}: with -m, OLD and NEW are the folders of the two programs")
        return Program(name.resolve(), _module(name.resolve(), named.module), True)
    if name.is_file():
        inside = root is not None and name.resolve().is_relative_to(root.resolve())
        return Program(root.resolve() if inside and root else name.resolve().parent, name)
    if name.is_dir():
        raise UserError(f"{name}: is a folder; name a script in it, or run one of its modules with -m")
    if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)+", str(name)) and name.suffix not in (".py", NOTEBOOK):
        home = (root or Path.cwd()).resolve()
        return Program(home, _module(home, str(name)), True)
    require(name, LARGEST)
    raise UserError(f"{name}: cannot be run")


def _beside(new: Program, old: Program) -> Program:
    """The new program with its whole folder, where it is the same tree as the old one in another place."""
    inner = old.script.resolve().relative_to(old.root).parts
    script = new.script.resolve()
    if new.root != script.parent or script.parts[-len(inner) :] != inner:
        return new
    return replace(new, root=script.parents[len(inner) - 1])


def _module(root: Path, name: str) -> Path:
    base = root.joinpath(*name.split("."))
    for path in (base.with_name(f"{base.name}.py"), base / "__main__.py"):
        if path.is_file():
            return path
    raise UserError(f"-m {name}: no such module in {root}, neither {base.name}.py nor {base.name}/__main__.py")


def _migrated(named: Named, old: Program, settings: Settings, scratch: Path) -> Program:
    root = scratch / "migrated"
    copy_program(old.root, root, Limits().largest_copied_file)
    copy = root / old.script.resolve().relative_to(old.root)
    script = named.old if old.script == named.old else old.script
    migrate.fix_copy(script, copy, settings, root, _modules(old))
    return Program(root, copy, old.as_module)


def _modules(program: Program) -> tuple[str, ...]:
    """The script and the modules of its program that it imports, by their paths in it."""
    script = program.script.resolve().relative_to(program.root).as_posix()
    return tuple(program_of(program.root, script, program.root if program.as_module else None))


API_RULES = ("TFM2", "TFM5")
"""Names and arguments of Keras and TensorFlow, and names that nothing has any more: what the restored world can lack.
Optimizers have their old meaning there (TFM3), and the strategy is not there (TFM0, TFM4)."""


def with_todays_names(program: Program, settings: Settings) -> Mapping[str, str]:
    """The files of a program that change where names and arguments of old Keras are written as today's, by their paths
    in it. multi_gpu_model stays."""
    names = {str(program.root / name): name for name in _modules(program)}
    result = migrate.check([str(program.root)], replace(settings, select=API_RULES, ignore=()))
    return {names[file.path]: file.after for file in result.files if file.changed and file.path in names}


def _with_driver(old: Program, driver: Path, folder: Path) -> Program:
    """A copy of the program with the driver in it."""
    copy_program(old.root, folder, Limits().largest_copied_file)
    place = folder / driver.name
    if place.exists():
        raise UserError(f"--driver {driver}: the program already has a file of this name")
    place.write_bytes(read(driver))
    return replace(old, root=folder, script=place)


def _moved(start: Path | None, root: Path, copy: Path) -> Path | None:
    if start is None or not start.resolve().is_relative_to(root):
        return None
    return copy / start.resolve().relative_to(root)


def _as_script(program: Program, folder: Path) -> Program:
    """A copy of the program; a notebook in it is a script there."""
    copy_program(program.root, folder, Limits().largest_copied_file)
    if program.script.suffix != NOTEBOOK:
        return Program(folder, folder / program.script.name)
    from tfmigrate.files import notebook, source

    try:
        text = notebook.read(source.decode(read(program.script)).text).script()
    except source.SourceError as error:
        raise UserError(f"{program.script}: {error}") from None
    script = folder / f"{program.script.stem}_notebook.py"
    script.write_text(text, encoding="utf-8", newline="")
    return Program(folder, script)


def stubs(assignments: tuple[str, ...]) -> Mapping[str, Path]:
    """`("cv2=fake_cv2.py",)` as a mapping; raises UserError."""
    files = {}
    for pair in assignments:
        module, sign, file = pair.partition("=")
        if not sign or not file or not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", module):
            raise UserError(f"--stub {pair!r} is not MODULE=FILE")
        files[module] = Path(file)
    return files
