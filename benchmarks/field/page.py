"""`docs/field.md`: a row for each program, and the shares above them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from outcome import Outcome
from table import Program

INTRODUCTION = """\
# Public programs

`make field` takes public programs at a commit, migrates each with `tfmigrate fix`, runs the old and the new one on
made-up data, and compares them with `tfmigrate verify`. `benchmarks/field/table.toml` says which, and how each is
started; no text of the programs is kept in this repository.

EQUIVALENT and DIFFERENT: compared over 30 steps, or fewer where a step takes long, with wrong migrations beside it, as
`verify` does by default.
SMOKE PASSED: compared in the first step (`verify --smoke`).
Each row is of the last time that its program was run, which may be with an earlier version of this tool.

"""
ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST = 240
"""Characters of a cause."""
AGREES = ("EQUIVALENT", "SMOKE PASSED")


def render(programs: Iterable[Program], outcomes: Mapping[str, Outcome]) -> str:
    """The page; programs without an outcome are left out."""
    every = list(programs)
    rows = [(program, outcomes[program.name]) for program in every if program.name in outcomes]
    lines = [
        INTRODUCTION + f"{len(rows)} of the {len(every)} programs of the table have been looked at.\n",
        summary([found for _, found in rows]) + "\n",
        "| program | shape | `fix` | old side | Keras 3 | Keras 2 | verdict | seconds |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(program, found) for program, found in rows),
        "",
    ]
    unwell = [(program, found) for program, found in rows if _unwell(program, found)]
    if unwell:
        lines += ["## What does not end well, and why\n"]
        lines += [
            f"- **{program.name}** ({program.fault or found.fault}): {_why(program, found)}"
            for program, found in unwell
        ]
        lines += [""]
    return "\n".join(lines)


def summary(outcomes: Collection[Outcome]) -> str:
    """The shares, one line each."""
    found = list(outcomes)
    ran = [one for one in found if one.old_side_runs]
    counts = [
        ("migrated by `fix` (with or without something left)", [one.fix in ("migrated", "left") for one in found]),
        *(
            (
                f"of those whose old side runs, and whose new one came to an end on {keras}, run there after `fix`",
                [died == "" for one in ran if (died := one.died(f"migrated on {keras}")) is not None],
            )
            for keras in ("Keras 3", "Keras 2")
        ),
        ("of those whose old side runs, agree", [one.verdict in AGREES for one in ran]),
        (
            "of those compared over several steps, EQUIVALENT",
            [one.verdict == "EQUIVALENT" for one in ran if one.is_whole],
        ),
        (
            "of those compared over several steps, EQUIVALENT or different in what `fix` had reported",
            [one.verdict == "EQUIVALENT" or one.fault == "reported by fix" for one in ran if one.is_whole],
        ),
    ]
    return "\n".join(f"- {what}: {sum(held)} of {len(held)}" for what, held in counts)


def line(program: Program, found: Outcome) -> str:
    """For the terminal."""
    why = f" {_why(program, found)}" if _unwell(program, found) else ""
    return f"{program.name}: fix {found.fix}, {found.verdict or 'not run'} ({found.seconds:.0f} s){why}"


def _unwell(program: Program, found: Outcome) -> bool:
    """Whether the program was to end well and did not; one that is only migrated may be refused."""
    return found.fix in ("refused", "error") or (program.run and found.verdict not in ("", *AGREES))


def _row(program: Program, found: Outcome) -> str:
    where = f"https://github.com/{program.repository}/tree/{program.commit}"
    name = f"[{program.name}]({where}) {Path(program.folder, program.script).as_posix()}"
    left = ", ".join(sorted({one.split()[0] for one in found.left}))
    cells = (
        name,
        program.shape,
        found.fix + (f" ({left})" if left else ""),
        "runs" if found.old_side_runs else "dies" if found.old_side_ran else "-",
        _cell(found.died("migrated on Keras 3")),
        _cell(found.died("migrated on Keras 2")),
        found.verdict or ("not run" + (f": {program.cause}" if not program.run and program.cause else "")),
        f"{found.seconds:.0f}",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cell(died: str | None) -> str:
    return "-" if died is None else "dies" if died else "runs"


def _why(program: Program, found: Outcome) -> str:
    died = [
        f"{run.role}: {_short(run.outcome.removeprefix(run.role + ': '))}" for run in found.runs if run.outcome != "ok"
    ]
    refused = ", ".join(found.left) if found.fix == "refused" else ""
    text = refused or program.cause or "; ".join(died) or _short(found.reason) or ", ".join(found.left)
    return " ".join(text.split()).replace(str(ROOT), ".").replace(str(Path.home()), "~")


def _short(text: str) -> str:
    """What a run died of, with its place at the end, without the arguments that Keras lists in between."""
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    place = re.search(r" \([^()]*:\d+\)", text)
    return text[:LONGEST] + " ..." + (place.group() if place and place.end() > LONGEST else "")
