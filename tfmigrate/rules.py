"""The rules as data: every `rules/*.md` is one claim with its reason and its examples.

A rule file is TOML between two `+++` lines, then Markdown. Its fenced blocks named `python before` + `python after`,
`python unchanged` and `python refuse` are its examples, and its tests; `requirements` in the place of `python` is a
requirements file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from tfmigrate.errors import suggestion
from tfmigrate.needles import RuleError, parts, rule_files
from tfmigrate.settings import Strategy
from tfmigrate.toml import tomllib

Safety = Literal["safe", "unsafe", "refuse", "warn"]
SAFETY: Mapping[Safety, str] = {
    "safe": "safe fix, made by `tfmigrate fix`",
    "unsafe": "unsafe fix: it changes what the program does, and is only made with `--unsafe-fixes`",
    "refuse": "refused, with the reason; no fix",
    "warn": "reported and left as it is; no fix",
}
"""What `tfmigrate fix` does about a rule, by its `safety`."""
Leaves = Literal["trap", "change", "nothing"]
ExampleKind = Literal["rewrite", "unchanged", "refuse"]
Language = Literal["python", "requirements"]
Level = Literal["warning", "note"]


@dataclass(frozen=True)
class Rename:
    """A plain renaming that needs no look at values."""

    old: str
    new: str
    kind: str
    """What is renamed: "name", "argument", "method", ..."""
    of: str | None = None
    """The call or class that an argument or method belongs to."""


@dataclass(frozen=True)
class Default:
    """An argument whose default value changed; the old value must be written out."""

    of: str
    """Qualified name of the call, e.g. "keras.optimizers.Adadelta"."""
    argument: str
    old: float | int | str | bool | None
    new: float | int | str | bool | None
    """None: the argument no longer exists."""
    flavour: str
    """Where the old value held: "keras" or "tf.keras"."""
    until: str | None = None
    """First version with the new value."""


@dataclass(frozen=True)
class Need:
    """A package that TensorFlow brings along, and the oldest version that it takes."""

    package: str
    at_least: str


@dataclass(frozen=True)
class Example:
    """A program and what must become of it; `before == after` unless `kind` is "rewrite"."""

    kind: ExampleKind
    before: str
    after: str
    line: int
    """Line of the opening fence in the rule's file, from 1."""
    language: Language = "python"


@dataclass(frozen=True, eq=False)
class Rule:
    """One file of rules/, which is read once: its text need not be compared to know it."""

    code: str
    name: str
    safety: Safety
    needles: tuple[str, ...]
    """A file must hold at least one of these strings before the rule can apply."""
    path: Path
    title: str
    text: str
    """The Markdown without the front matter."""
    line: int
    """Of the file, on which the text begins, from 1."""
    versions: str = ""
    references: tuple[str, ...] = ()
    renames: tuple[Rename, ...] = ()
    defaults: tuple[Default, ...] = ()
    needs: tuple[Need, ...] = ()
    leaves: Leaves = "change"
    """What a warning under this code leaves in the migrated program: a trap, which stops it or changes its training and
    which `check` finds again once the program is on a strategy; a change against the old program, which is not reported
    again; or nothing."""
    level: Level = "warning"
    """What its rewrites are shown as where findings are sorted: "note" where the old form neither breaks nor trains
    differently."""
    strategy: Strategy = "mirrored"
    """The `--strategy` that its examples are run with."""

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The programs in the text, which no migration asks for. Raises RuleError."""
        return _examples(self.path, self.text, self.line)

    @property
    def fix(self) -> str:
        """Code, name, and whether there is a safe or an unsafe fix, as one line of Markdown."""
        return f"**{self.code}** `{self.name}`: {SAFETY[self.safety]}."

    @property
    def page(self) -> str:
        """The text, with what `fix` does about it below the title."""
        title, _, rest = self.text.partition("\n")
        return f"{title}\n\n{self.fix}\n{rest}"

    @property
    def summary(self) -> str:
        """The first paragraph under the title, in one line."""
        body = self.text.split("\n", 1)[1] if "\n" in self.text else ""
        return " ".join(body.strip().split("\n\n", 1)[0].split())


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code. Raises RuleError."""
    rules = sorted((load(path) for path in rule_files()), key=lambda rule: rule.code)
    for first, other in pairwise(rules):
        if first.code == other.code:
            raise RuleError(f"{other.path}:1: code {other.code} is also that of {first.path.name}")
    return tuple(rules)


@cache
def old_defaults() -> tuple[Default, ...]:
    """What the optimizers of standalone Keras took where a script says nothing. Raises RuleError."""
    rule = next(rule for rule in all_rules() if rule.name == "optimizer-defaults")
    return tuple(row for row in rule.defaults if row.flavour == "keras")


@cache
def moved_names() -> dict[str, str]:
    """Names of Keras, TensorFlow and NumPy, dotted, that have another name today; NumPy's may be a builtin of Python.
    Raises RuleError."""
    kinds = ("name", "python name", "builtin")
    return {row.old: row.new for rule in all_rules() for row in rule.renames if row.kind in kinds}


def by_code() -> dict[str, Rule]:
    """Every rule under its code. Raises RuleError."""
    return {rule.code: rule for rule in all_rules()}


@cache
def unsafe_codes() -> frozenset[str]:
    """The codes of the rules whose rewrites change what a program does. Raises RuleError."""
    return frozenset(rule.code for rule in all_rules() if rule.safety == "unsafe")


def address(code: str) -> str:
    """Where a rule's page stands on the web; nothing while the package names no documentation."""
    site = _documentation()
    return f"{site.rstrip('/')}/rules/{code}/" if site else ""


@cache
def _documentation() -> str:
    """The address that the installed package gives for its documentation."""
    from importlib import metadata  # Late: two reports alone ask for it.

    try:
        urls: list[str] = metadata.metadata("tfmigrate").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    return next((url.partition(", ")[2] for url in urls if url.startswith("Documentation, ")), "")


def load(path: Path) -> Rule:
    """Read one rule. Raises RuleError naming file and line."""
    table, text, first_line = _header(path)
    body = text.lstrip("\n")
    body_line = first_line + len(text) - len(body)
    if not body.startswith("# "):
        raise RuleError(f"{path}:{body_line}: the text after the front matter begins with no `# title`")
    return Rule(
        code=table["code"],
        name=table["name"],
        safety=table["safety"],
        needles=tuple(table.get("needles", ())),
        path=path,
        title=body.split("\n", 1)[0][2:].strip(),
        text=body,
        line=body_line,
        versions=table.get("versions", ""),
        references=tuple(table.get("references", ())),
        renames=tuple(_row(path, Rename, row) for row in table.get("rename", ())),
        defaults=tuple(_row(path, Default, row) for row in table.get("default", ())),
        leaves=table.get("leaves", "change"),
        strategy=table.get("strategy", "mirrored"),
        level=table.get("level", "warning"),
        needs=tuple(_row(path, Need, row) for row in table.get("need", ())),
    )


_KEYS: Mapping[str, type] = {
    "code": str, "name": str, "safety": str, "needles": list, "versions": str, "references": list,
    "rename": list, "default": list, "need": list, "strategy": str, "leaves": str, "level": str,
}  # fmt: skip
_REQUIRED = ("code", "name", "safety", "needles")


def _header(path: Path) -> tuple[dict[str, Any], str, int]:
    """The front matter, the text after it, and the line that text begins on."""
    front, text = parts(path)
    table = _toml(path, front)
    for key, value in table.items():
        if key in _KEYS and isinstance(value, _KEYS[key]):
            continue
        line = 2 + next((n for n, line in enumerate(front.splitlines()) if key in line), 0)
        if key not in _KEYS:
            raise RuleError(f"{path}:{line}: unknown key {key!r}{suggestion(key, _KEYS)}")
        raise RuleError(f"{path}:{line}: {key} is not a {_KEYS[key].__name__}")
    for key in _REQUIRED:
        if key not in table:
            raise RuleError(f"{path}:1: the front matter has no {key!r}")
    for key, known in (("strategy", Strategy), ("safety", Safety), ("leaves", Leaves), ("level", Level)):
        if key in table and table[key] not in get_args(known):
            raise RuleError(f"{path}:1: {key} = {table[key]!r} is not one of {', '.join(get_args(known))}")
    return table, text, 3 + front.count("\n")


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"{path}:{_toml_line(error) + 1}: front matter is not TOML: {error}") from None
    return table


def _toml_line(error: Exception) -> int:
    """The line that tomllib names in its message ("... (at line 3, column 1)"), 1 when it names none."""
    words = str(error).replace(",", " ").split()
    return int(words[words.index("line") + 1]) if "line" in words else 1


def _row(path: Path, kind: type[Any], row: Mapping[str, Any]) -> Any:
    try:
        return kind(**row)
    except TypeError as error:
        name = kind.__name__.lower()
        raise RuleError(f"{path}:1: [[{name}]] {dict(row)}: {str(error).split('__init__() ')[-1]}") from None


_LANGUAGES: tuple[Language, ...] = get_args(Language)


def _examples(path: Path, body: str, first_line: int) -> tuple[Example, ...]:
    examples: list[Example] = []
    waiting: tuple[Language, str, int] | None = None
    for info, text, line in _fences(path, body, first_line):
        word, _, kind = info.partition(" ")
        language: Language | None = next((language for language in _LANGUAGES if language == word), None)
        if kind == "after" and language:
            if waiting is None or waiting[0] != language:
                raise RuleError(f"{path}:{line}: `{info}` without a `{language} before` just above it")
            examples.append(Example("rewrite", waiting[1], text, waiting[2], waiting[0]))
            waiting = None
            continue
        if waiting is not None:
            break
        if not kind or language is None:
            continue
        if kind == "before":
            waiting = (language, text, line)
        elif kind == "unchanged":
            examples.append(Example("unchanged", text, text, line, language))
        elif kind == "refuse":
            examples.append(Example("refuse", text, text, line, language))
        else:
            raise RuleError(f"{path}:{line}: `{info}` is not a kind of example (before, after, unchanged, refuse)")
    if waiting is not None:
        raise RuleError(f"{path}:{waiting[2]}: `{waiting[0]} before` without a `{waiting[0]} after` just below it")
    return tuple(examples)


def _fences(path: Path, body: str, first_line: int) -> list[tuple[str, str, int]]:
    """(info string, content, line) of each fenced block; blocks are fenced by three backticks at the line's start."""
    blocks: list[tuple[str, str, int]] = []
    opened: tuple[str, int] | None = None
    content: list[str] = []
    for number, line in enumerate(body.splitlines(keepends=True), first_line):
        if not line.startswith("```"):
            content.append(line)
        elif opened is None:
            opened, content = (line[3:].strip(), number), []
        else:
            blocks.append((opened[0], "".join(content), opened[1]))
            opened = None
    if opened is not None:
        raise RuleError(f"{path}:{opened[1]}: this fenced block is never closed")
    return blocks
