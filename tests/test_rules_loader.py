"""The loader: format and errors. What the rules themselves claim is tested in test_rules.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tfmigrate import needles, rules
from tfmigrate.needles import RuleError
from tfmigrate.rules import Default, Example, Rename

RULE = """+++
code = "TFM201"
name = "fit-generator"
safety = "safe"
needles = ["fit_generator"]
versions = "keras < 3"
references = ["https://example.org"]

[[rename]]
old = "fit_generator"
new = "fit"
kind = "method"
of = "Model"

[[default]]
of = "keras.optimizers.Adadelta"
argument = "lr"
old = 1.0
new = 0.001
flavour = "keras"
until = "2.4"
+++

# Generators go to fit

`fit` takes a generator
since 2.1.

## Why

```python before
model.fit_generator(g)
```
```python after
model.fit(g)
```

Some text, and a block that is no example:

```
nothing
```

```python unchanged
other.fit_generator
```

```python refuse
f = model.fit_generator
```
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for module in (rules, needles):
        monkeypatch.setattr(module, "rule_files", lambda: sorted(tmp_path.glob("*.md")))
    rules.all_rules.cache_clear()
    needles.needles.cache_clear()
    yield tmp_path
    rules.all_rules.cache_clear()
    needles.needles.cache_clear()


def test_loads_all_parts(folder: Path) -> None:
    path = folder / "TFM201.md"
    path.write_text(RULE)
    (rule,) = rules.all_rules()
    assert (rule.code, rule.name, rule.safety, rule.needles) == ("TFM201", "fit-generator", "safe", ("fit_generator",))
    assert (rule.versions, rule.references) == ("keras < 3", ("https://example.org",))
    assert rule.renames == (Rename("fit_generator", "fit", "method", "Model"),)
    assert rule.defaults == (Default("keras.optimizers.Adadelta", "lr", 1.0, 0.001, "keras", "2.4"),)
    assert rule.title == "Generators go to fit"
    assert rule.summary == "`fit` takes a generator since 2.1."
    assert rule.text.startswith("# Generators")
    before, unchanged, refuse = rule.examples
    assert before == Example("rewrite", "model.fit_generator(g)\n", "model.fit(g)\n", 31)
    assert path.read_text().splitlines()[before.line - 1] == "```python before"
    assert (unchanged.kind, unchanged.before, unchanged.after) == ("unchanged", *["other.fit_generator\n"] * 2)
    assert (refuse.kind, refuse.line) == ("refuse", 48)
    assert rules.by_code() == {"TFM201": rule}


def test_needles_read_front_matter_only_and_leave_out_the_longer(folder: Path) -> None:
    (folder / "a.md").write_text(RULE + "```python before\nnever closed: needles() must not care")
    (folder / "b.md").write_text(RULE.replace('["fit_generator"]', '["generator", "multi_gpu_model"]'))
    assert needles.needles() == (b"generator", b"multi_gpu_model")


def test_needles_are_those_of_the_whole_front_matter() -> None:
    wanted = {needle.encode() for rule in rules.all_rules() for needle in rule.needles}
    assert all(any(short in needle for short in needles.needles()) for needle in wanted)
    assert wanted.issuperset(needles.needles())


def test_a_rule_whose_needles_a_scan_cannot_read_is_told(folder: Path) -> None:
    (folder / "a.md").write_text(RULE.replace("needles = ", "needles= "))
    with pytest.raises(RuleError, match=r"a\.md:1: the front matter has no line `needles = \[...\]`"):
        needles.needles()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("+++\ncode", "code", 1, "no front matter"),
        ('safety = "safe"', "safety = safe", 4, "not TOML"),
        ('safety = "safe"', 'safety = "sure"', 1, "safety = 'sure' is not one of safe, unsafe, refuse, warn"),
        ("needles = [", "needle = [", 5, "unknown key 'needle'; did you mean 'needles'?"),
        ('needles = ["fit_generator"]', 'needles = "fit_generator"', 5, "needles is not a list"),
        ('name = "fit-generator"\n', "", 1, "no 'name'"),
        ('kind = "method"', 'sort = "method"', 1, "[[rename]]"),
        ('argument = "lr"\n', "", 1, "[[default]]"),
        ("# Generators", "Generators", 24, "no `# title`"),
        ("```python before\n", "```python\n", 34, "`python after` without a `python before`"),
        ("```python after\n", "```python unchanged\n", 31, "`python before` without a `python after`"),
        ("```python refuse", "```python refused", 48, "`python refused` is not a kind of example"),
        ("f = model.fit_generator\n```\n", "f = 1\n", 48, "never closed"),
    ],
)
def test_malformed_rules_are_told_with_file_and_line(folder: Path, old: str, new: str, line: int, message: str) -> None:
    path = folder / "x.md"
    assert old in RULE
    path.write_text(RULE.replace(old, new, 1))
    with pytest.raises(RuleError) as told:
        assert not rules.load(path).examples
    assert str(told.value).startswith(f"{path}:{line}: ")
    assert message in str(told.value)


def test_two_rules_cannot_share_a_code(folder: Path) -> None:
    (folder / "a.md").write_text(RULE)
    (folder / "b.md").write_text(RULE)
    with pytest.raises(RuleError, match=r"b\.md:1: code TFM201 is also that of a\.md"):
        rules.all_rules()
