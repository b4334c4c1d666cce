"""mkdocs hooks: pages that are written elsewhere in the repository, so that nothing has to be written twice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tfmigrate import rules

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
GROUPS = {
    "TFM0": "Rewrites",
    "TFM1": "Refusals",
    "TFM2": "Removed interfaces",
    "TFM3": "Changed defaults",
    "TFM4": "Strategy traps",
    "TFM5": "Names that do not exist",
    "TFM6": "The project around the code",
}
OUTCOMES = {"safe": "safe fix", "unsafe": "unsafe fix", "refuse": "refused", "warn": "reported"}


def on_config(config: MkDocsConfig) -> None:
    """Put the rules into the sidebar by group, each under its code and name; "next" and "previous" take that order."""
    entries: list[Any] = ["rules/index.md"]
    for prefix, group in GROUPS.items():
        found = [rule for rule in rules.all_rules() if rule.code.startswith(prefix)]
        entries.append({group: [{f"{rule.code} {rule.name}": f"rules/{rule.code}.md"} for rule in found]})
    config.nav = [{"Rules": entries} if item == {"Rules": "rules/index.md"} else item for item in config.nav or ()]


def on_files(files: Files, *, config: MkDocsConfig, **_: Any) -> Files:
    """Add the generated pages."""
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=_linked((ROOT / source).read_text(encoding="utf-8"))))
    for rule in rules.all_rules():
        files.append(File.generated(config, f"rules/{rule.code}.md", content=_rule(rule)))
    files.append(File.generated(config, "rules/index.md", content=_index()))
    return files


def _linked(text: str) -> str:
    """A page of the repository's root as a page of the site: links into docs/ and rules/ lead to their pages."""
    text = re.sub(r"\]\(docs/", "](", text)
    text = text.replace("](rules/)", "](rules/index.md)").replace("](CONTRIBUTING.md)", "](contributing.md)")
    return _fenced(text.replace("](CHANGELOG.md)", "](changelog.md)"))


def _fenced(text: str) -> str:
    """Our example blocks carry their role after the language; the site shows it as the block's title."""
    titles = {"before": "before", "after": "after", "unchanged": "stays as it is", "refuse": "refused"}
    return re.sub(
        r"^``` ?python (before|after|unchanged|refuse)$",
        lambda match: f'```{{ .python title="{titles[match[1]]}" }}',
        text,
        flags=re.M,
    )


def _rule(rule: rules.Rule) -> str:
    title, _, rest = rule.text.partition("\n")
    facts = [rule.fix]
    if rule.versions:
        facts.append(f"Versions: {rule.versions}.")
    renamed = _table(
        "Renamed",
        ("old", "new", "of", "what"),
        [(f"`{one.old}`", f"`{one.new}`", f"`{one.of}`" if one.of else "", one.kind) for one in rule.renames],
    )
    defaults = _table(
        "Defaults",
        ("call", "argument", "old", "new", "where the old one held"),
        [
            (f"`{one.of}`", f"`{one.argument}`", one.old, "gone" if one.new is None else one.new, one.flavour)
            for one in rule.defaults
        ],
    )
    return _fenced(f"{title}\n\n{' '.join(facts)}\n{rest}{renamed}{defaults}")


def _table(title: str, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    if not rows:
        return ""
    lines = [head, ("---",) * len(head), *rows]
    return f"\n## {title}\n\n" + "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _index() -> str:
    parts = ["# Rules\n\nEach is one file of `rules/`: the claim, its reason, and examples that the tests run.\n"]
    for prefix, name in GROUPS.items():
        found = [rule for rule in rules.all_rules() if rule.code.startswith(prefix)]
        if found:
            rows = "".join(f"| [{r.code}]({r.code}.md) | {r.title} | {OUTCOMES[r.safety]} |\n" for r in found)
            parts.append(f"\n## {name}\n\n| | | |\n|---|---|---|\n{rows}")
    return "".join(parts)
