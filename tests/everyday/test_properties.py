"""On any Python at all: never a crash, no finding = the same bytes, a second run changes nothing, the result parses.

TFMIGRATE_EXAMPLES multiplies the number of examples, which are then new at each run; `make reliability` asks for 20.
"""

from __future__ import annotations

import ast
import os
import warnings

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.conftest import ROOT
from tfmigrate import rules
from tfmigrate.migrate import migrate_bytes
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

SETTINGS = Settings(from_version="keras==2.2.4, tensorflow==1.15")
PROGRAMS = sorted(
    {one.before for rule in rules.all_rules() for one in rule.examples if one.language == "python"}
    | {path.read_text(encoding="utf-8") for path in (ROOT / "fixtures").glob("*/before/*.py")}
)
LINES = sorted({line for program in PROGRAMS for line in program.splitlines()})

MORE = int(os.environ.get("TFMIGRATE_EXAMPLES", "1"))


def examples(count: int) -> hypothesis.settings:
    """So many examples, the same at each run unless more are asked for."""
    return hypothesis.settings(
        max_examples=count * MORE,
        deadline=None,
        derandomize=MORE == 1,
        database=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),  # Shrinking takes minutes where a test fails.
        suppress_health_check=list(hypothesis.HealthCheck),
    )


def holds(text: str) -> FileResult:
    """Migrate, and fail when one of the promises is broken."""
    file = migrate_bytes(text.encode("utf-8", "surrogatepass"), "a.py", SETTINGS)
    if file.error:
        assert "please report" not in file.error
        return file
    assert file.findings or file.after == text
    assert (file.after != text) <= any(finding.action == "rewrite" for finding in file.findings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(file.after)
    again = migrate_bytes(file.after.encode(), "a.py", SETTINGS)
    assert again.after == file.after
    assert not again.error
    return file


def any_program() -> st.SearchStrategy[str]:
    import hypothesmith  # builds the tables of its grammar, for seconds

    return hypothesmith.from_grammar(auto_target=False)


ANY_PROGRAM = st.deferred(any_program)


@hypothesis.given(ANY_PROGRAM)
@examples(30)
def test_any_program(text: str) -> None:
    file = holds(text)
    assert file.after == file.before


@hypothesis.given(ANY_PROGRAM, st.sampled_from(PROGRAMS))
@examples(10)
def test_any_program_round_a_use(text: str, program: str) -> None:
    holds(f"{text}\n{program}")
    holds(f"{program}\n{text}")


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A program that trains, with lines lost, doubled, swapped, put in from elsewhere or indented anew."""
    lines = draw(st.sampled_from(PROGRAMS)).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1)) if lines else 0
        what = draw(st.sampled_from(["lose", "double", "swap", "put in", "indent", "cut"]))
        if what == "lose" and lines:
            del lines[at]
        elif what == "double" and lines:
            lines.insert(at, lines[at])
        elif what == "swap" and lines:
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        elif what == "put in":
            lines.insert(at, draw(st.sampled_from(LINES)))
        elif what == "indent" and lines:
            lines[at] = draw(st.sampled_from(["    ", "", "\t", "if x:  "])) + lines[at].strip()
        elif what == "cut":
            lines = lines[: at + 1]
    return draw(st.sampled_from(["\n", "\n", "\r\n"])).join(lines) + draw(st.sampled_from(["\n", ""]))


@hypothesis.given(damaged())
@examples(150)
def test_any_damage(text: str) -> None:
    holds(text)


@hypothesis.given(st.binary(max_size=300))
@examples(300)
def test_any_bytes(data: bytes) -> None:
    for name in ("a.py", "a.ipynb"):
        file = migrate_bytes(data, name, SETTINGS)
        assert file.after == file.before
        assert "please report" not in (file.error or "")


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_that_are_damaged(program: str) -> None:
    holds(program)
