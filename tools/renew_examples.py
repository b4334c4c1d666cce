"""Write again what the tool makes of every example: rules/*.md, README.md, docs/guide.md and fixtures/*/after.

Look at the diff before committing it: the tests hold the tool to exactly these texts. Requirements files stay.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from tfmigrate import migrate, rules
from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings

ROOT = Path(__file__).parents[1]
_PAIR = re.compile(
    r"^```python before\n(?P<before>.*?)^```\n(?P<between>.*?)^```python after\n(?P<after>.*?)^```$", re.M | re.S
)


def renewed(page: str, settings: Settings) -> str:
    """A page with the `after` of each example as the tool writes it today."""

    def pair(match: re.Match[str]) -> str:
        file = migrate_bytes(match["before"].encode(), "example.py", settings)
        if file.error is not None:
            raise SystemExit(f"{file.error}\n{match['before']}")
        return f"```python before\n{match['before']}```\n{match['between']}```python after\n{file.after}```"

    return _PAIR.sub(pair, page)


def renew_fixture(folder: Path) -> bool:
    """Whether `after` is another one now."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "after"
        shutil.copytree(folder / "before", copy)
        migrate.fix([str(copy)], Settings(root=copy))
        return _copied(copy, folder / "after")


def _copied(new: Path, old: Path) -> bool:
    changed = False
    for path in sorted(new.rglob("*")):
        target = old / path.relative_to(new)
        if path.is_file() and (not target.exists() or target.read_bytes() != path.read_bytes()):
            target.write_bytes(path.read_bytes())
            changed = True
    return changed


def main() -> None:
    pages = {
        rule.path: Settings(strategy=rule.strategy, unsafe_fixes=rule.safety == "unsafe") for rule in rules.all_rules()
    }
    for path, settings in {**pages, ROOT / "README.md": Settings(), ROOT / "docs" / "guide.md": Settings()}.items():
        before = path.read_text(encoding="utf-8")
        after = renewed(before, settings)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(path.relative_to(ROOT))
    for folder in sorted((ROOT / "fixtures").iterdir()):
        if (folder / "before").is_dir() and renew_fixture(folder):
            print((folder / "after").relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
