"""Every block in rules/ is run: each claim of a rule is a test, in every form that `variants` knows."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

import pytest
from _pytest.mark import ParameterSet

from tests.conftest import ROOT
from tests.variants import Variant, comments, decoded, variants, with_comments, with_suppressions
from tfmigrate import rules
from tfmigrate.migrate import migrate_bytes
from tfmigrate.plan import codes as pages
from tfmigrate.plan.packages.pins import Project, mended
from tfmigrate.result import FileResult
from tfmigrate.rules import Example, Rule
from tfmigrate.settings import Settings

RULES = rules.all_rules()
PROGRAMS = [(rule, example) for rule in RULES for example in rule.examples if example.language == "python"]


def case(rule: Rule, *values: object, name: str) -> ParameterSet:
    """A case of one page; all of a page's run in one worker, which migrates each of its programs once."""
    return pytest.param(rule, *values, id=name, marks=pytest.mark.xdist_group(rule.path.name))


EXAMPLES = [case(rule, example, name=f"{rule.path.name}:{example.line}") for rule, example in PROGRAMS]
REWRITES = [
    case(rule, example, name=f"{rule.path.name}:{example.line}")
    for rule, example in PROGRAMS
    if example.kind == "rewrite"
]
VARIANTS = [
    case(rule, example, variant, name=f"{rule.path.name}:{example.line} {variant.form}")
    for rule, example in PROGRAMS
    for variant in variants(example)
    # A strategy over several machines is made at the top, wherever the rest stands.
    if (rule.strategy, variant.form) != ("multi-worker", "in a function")
]
REQUIREMENTS = [
    case(rule, example, name=f"{rule.path.name}:{example.line}")
    for rule in RULES
    for example in rule.examples
    if example.language == "requirements"
]


@lru_cache(maxsize=200)
def migrated(data: bytes, rule: Rule) -> FileResult:
    file = migrate_bytes(data, "example.py", Settings(strategy=rule.strategy, unsafe_fixes=rule.safety == "unsafe"))
    assert file.error is None, file.error
    return file


def project_of(rule: Rule) -> Project:
    """The project that a rule's requirements files belong to; that of TFM604 uses TensorBoard."""
    return Project(Settings(), RULES, writes_for_tensorboard="train.py" if rule.code == pages.TENSORBOARD else None)


def outcome(example: Example, rule: Rule) -> FileResult:
    if example.language == "requirements":
        return mended("requirements.txt", example.before, project_of(rule))
    return migrated(example.before.encode(), rule)


def codes(file: FileResult, *actions: str) -> set[str]:
    return {finding.code for finding in file.findings if finding.action in actions}


def test_every_code_has_a_rule_and_every_rule_a_code_or_a_table() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tfmigrate").rglob("*.py"))
    named = {getattr(pages, name) for source in sources for name in re.findall(r"\bcodes\.([A-Z]\w+)", source)}
    assert named <= {rule.code for rule in RULES}
    assert {rule.code for rule in RULES if not (rule.renames or rule.defaults)} <= named


@pytest.mark.parametrize("rule", [case(rule, name=rule.path.name) for rule in RULES])
def test_a_page_is_named_after_its_rule(rule: Rule) -> None:
    assert rule.path.stem == f"{rule.code}-{rule.name}"
    assert getattr(pages, rule.name.upper().replace("-", "_")) == rule.code


def test_a_name_without_a_page_is_no_code() -> None:
    with pytest.raises(AttributeError, match="no page in rules/ is named 'moved-stars'"):
        pages.MOVED_STARS  # noqa: B018


OF_SEVERAL_FILES = {"TFM027": "test_importers.py"}
"""Rules that no single file provokes, and the tests that do."""


@pytest.mark.parametrize(
    "rule", [case(rule, name=rule.path.name) for rule in RULES if rule.code not in OF_SEVERAL_FILES]
)
def test_every_rule_has_an_example_that_provokes_it(rule: Rule) -> None:
    found = [finding.code for example in rule.examples for finding in outcome(example, rule).findings]
    assert rule.code in found, f"{rule.path.name} shows no program that it applies to"


@pytest.mark.parametrize(("rule", "example", "variant"), VARIANTS)
def test_an_example_becomes_what_the_rule_says(rule: Rule, example: Example, variant: Variant) -> None:
    file = migrated(variant.before, rule)
    expected = decoded(variant.after)
    wide = any(len(line.expandtabs(8)) > 100 for line in expected.splitlines())
    if wide and variant.form != "as it stands":  # The form made a line too wide.
        assert ast.dump(ast.parse(file.after)) == ast.dump(ast.parse(expected))
        assert sorted(comments(file.after)) == sorted(comments(expected))
    else:
        assert file.after == expected
        assert file.after.encode(file.encoding) == variant.after
    ast.parse(file.after)
    if example.kind == "refuse":
        assert rule.code in codes(file, "refuse", "warn")
    elif example.kind == "unchanged":
        assert rule.code not in codes(file, "rewrite", "refuse")
    else:
        assert rule.code in codes(file, "rewrite", "warn")


@pytest.mark.parametrize(("rule", "example"), REQUIREMENTS)
def test_a_requirements_file_becomes_what_the_rule_says(rule: Rule, example: Example) -> None:
    file = outcome(example, rule)
    assert file.after == example.after
    assert (rule.code in codes(file, "rewrite")) == (example.kind == "rewrite")
    assert not mended("requirements.txt", file.after, project_of(rule)).changed
    ended = example.before.replace("\n", "\r\n")
    assert mended("requirements.txt", ended, project_of(rule)).after == example.after.replace("\n", "\r\n")


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_second_run_changes_nothing(rule: Rule, example: Example) -> None:
    again = migrated(example.after.encode(), rule)
    assert again.after == example.after
    assert not codes(again, "rewrite")


@pytest.mark.parametrize(("rule", "example"), REWRITES)
def test_comments_are_kept_and_change_nothing(rule: Rule, example: Example) -> None:
    commented = with_comments(example.before)
    file = migrated(commented.encode(), rule)
    assert ast.unparse(ast.parse(file.after)) == ast.unparse(ast.parse(example.after))
    kept, stays = comments(file.after), {line.strip() for line in example.after.splitlines()}
    lines = commented.splitlines()
    for number, line in enumerate(lines):
        code, comment = (part.strip() for part in line.partition("  #")[::2])
        if code and comment and f"# {comment}" not in kept:
            assert code not in stays, f"{line} lost from\n{commented}\ngiving\n{file.after}"
        if line.strip().startswith("# above") and line.strip() not in kept:
            below = lines[number + 1].partition("  #")[0].strip()
            assert below not in stays, f"{line} lost from\n{commented}\ngiving\n{file.after}"


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_suppression_makes_it_a_no_op(rule: Rule, example: Example) -> None:
    found = [f for f in migrated(example.before.encode(), rule).findings if f.code != pages.UNUSED_SUPPRESSION]
    lines = {finding.line for finding in found if finding.action != "suppressed"}
    text = with_suppressions(example.before, lines)
    file = migrated(text.encode(), rule)
    assert file.after == text
    assert not codes(file, "rewrite", "refuse")
    # Where the wrap is suppressed, what only follows from it is no finding at all.
    assert bool(codes(file, "suppressed")) == bool(found)
