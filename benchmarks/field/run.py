"""Migrate public programs, run them old and new, and write `docs/field.md`: `make field`.

Repositories are cloned, or read from the git directories in the folder FIELD_MIRROR. What became of each program is
kept in build/field, so that a run that was stopped continues where it was; `--again` starts over. This runs programs of
others on your machine: read an entry's program before you add it. `tfmigrate verify` confines what a program may write
where the kernel can do that; reading and the network stay open.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import constants  # noqa: E402
import outcome  # noqa: E402
import page  # noqa: E402
import sources  # noqa: E402
import table  # noqa: E402
from outcome import Outcome  # noqa: E402
from table import Program  # noqa: E402

from tfmigrate.verify.run.program import program_of  # noqa: E402

TFMIGRATE = (sys.executable, "-m", "tfmigrate")
STEPS = {"smoke": ("--smoke",), "default": ()}
DEPTHS = ("default", "smoke", "fix")
"""The deepest first: the page has that of each program."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Migrate public programs, run old and new, write docs/field.md.")
    parser.add_argument("--only", action="append", metavar="NAME", help="this program alone; may be repeated")
    parser.add_argument(
        "--steps", choices=(*STEPS, "fix"), default="smoke", help="how far verify runs; fix: not at all"
    )
    parser.add_argument("--time-limit", type=float, default=900, metavar="SECONDS", help="of each program (900)")
    parser.add_argument("--again", action="store_true", help="forget what was found before")
    parser.add_argument("--table", type=Path, default=HERE / "table.toml", metavar="FILE")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "field", metavar="DIR")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "field.md", metavar="FILE")
    chosen = parser.parse_args(arguments)
    mirror = os.environ.get("FIELD_MIRROR")
    try:
        programs = table.read(chosen.table)
    except (OSError, ValueError, table.TableError) as error:
        parser.error(str(error))
    unknown = set(chosen.only or ()) - {one.name for one in programs}
    if unknown:
        parser.error(f"no program is named {', '.join(sorted(unknown))}")
    for program in programs:
        folder, mark = chosen.build / program.name, fingerprint(program)
        if chosen.only and program.name not in chosen.only:
            continue
        kept = outcome.kept(folder, mark, (chosen.steps,))
        if kept is None or chosen.again:
            print(f"{program.name} ...", flush=True)
            try:
                kept = examine(program, folder, chosen, mark, Path(mirror) if mirror else None)
            except sources.SourceError as error:
                print(f"{program.name}: {error}", file=sys.stderr)
                continue
            kept.write(folder / f"{chosen.steps}.json")
        print(page.line(program, kept), flush=True)
    known = {one.name: outcome.kept(chosen.build / one.name, fingerprint(one), DEPTHS) for one in programs}
    outcomes = {name: found for name, found in known.items() if found is not None}
    chosen.page.write_text(page.render(programs, outcomes), encoding="utf-8")
    print(page.summary(outcomes.values()))
    return 0


def fingerprint(program: Program) -> str:
    """Of the program's entry and of what of ours it is run with; not of what is only said about it."""
    program = dataclasses.replace(program, shape="", fault="", cause="")
    digest = hashlib.sha256(repr(program).replace(str(HERE), "").encode())
    for file in program.files:
        for path in sorted(file.rglob("*.py")) if file.is_dir() else [file]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def examine(program: Program, folder: Path, chosen: argparse.Namespace, mark: str, mirror: Path | None) -> Outcome:
    """Lays the program out, migrates it, runs old and new. Raises SourceError."""
    start = time.perf_counter()
    git = sources.repository(program.repository, mirror, folder.parent)
    old, new = folder / "old", folder / "new"
    for tree in (old, new):
        shutil.rmtree(tree, ignore_errors=True)
    sources.lay_out(git, program.commit, program.folder, old)
    if program.driver is not None:
        shutil.copy(program.driver, old / program.script)
    for library in program.libraries:
        git = sources.repository(library.repository, mirror, folder.parent)
        sources.lay_out(git, library.commit, library.folder, old / library.at)
    for place, addition in program.additions.items():
        (old / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(addition, old / place)
    for file, names in program.constants.items():
        try:
            constants.give(old / file, names)
        except ValueError as error:
            raise sources.SourceError(f"constants of {file}: {error}") from None
    shutil.copytree(old, new)
    (new / ".git").mkdir()  # As a clone has: what lies round it, this repository say, is no part of its project.
    begun = time.perf_counter()
    since = ("--from", program.written_for) if program.written_for else ()
    done = _tfmigrate("fix", "--format", "json", *since, str(new))
    spent = time.perf_counter() - begun
    (folder / "findings.json").write_text(done.stdout, encoding="utf-8")
    document = _json(done.stdout)
    if document is None:
        told = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return Outcome(program.name, mark, "error", (), spent, "", told[-1], (), time.perf_counter() - start)
    said, left = outcome.of_fix(document, new, tuple(program_of(old, program.script, _home(program, old))))
    verdict, reason, runs = "", "", ()
    if said in ("migrated", "left", "untouched") and chosen.steps != "fix" and program.run:
        verdict, reason, runs = _verified(program, folder, chosen.steps, chosen.time_limit)
    seconds = time.perf_counter() - start
    return Outcome(program.name, mark, said, left, round(spent, 1), verdict, reason, runs, round(seconds, 1))


def _home(program: Program, old: Path) -> Path | None:
    """Where absolute imports begin: of a module the folder itself."""
    return old if program.module else None


def _verified(program: Program, folder: Path, steps: str, limit: float) -> tuple[str, str, tuple[outcome.Run, ...]]:
    report = folder / "report"
    shutil.rmtree(report, ignore_errors=True)
    command = ["verify", *STEPS[steps], "--report", str(report), "--time-limit", str(limit)]
    old, new = folder / "old", folder / "new"
    if program.module:
        command += ["-m", program.module, str(old), str(new)]
    else:
        command += ["--program", str(old), str(old / program.script), str(new / program.script)]
    if program.start:
        command += ["--cwd", str(old / program.start)]
    if program.setup:
        command += ["--setup", str(program.setup)]
    for module, file in {"standins": HERE / "stubs" / "standins.py", **program.stubs}.items():
        command += ["--stub", f"{module}={file}"]
    for variable in program.env:
        command += ["--env", variable]
    if program.written_for:
        command += ["--from", program.written_for]
    # With "=": the program's own arguments begin with dashes too.
    done = _tfmigrate(*command, *program.options, *([f"--args={program.args}"] if program.args else ()))
    (folder / "verify.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    written = report / "report.json"
    document = _json(written.read_text(encoding="utf-8")) if written.exists() else None
    if document is None:
        told = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return "COULD NOT RUN", told[-1], ()
    return outcome.of_verify(document)


def _tfmigrate(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([*TFMIGRATE, *arguments], capture_output=True, text=True, env=environment)


def _json(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


if __name__ == "__main__":
    sys.exit(main())
