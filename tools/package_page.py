"""The page that a package index shows: README.md, whose links and pictures lead into the repository.

An index does not have that. Where [project.urls] names the repository, they become addresses in it, at the tag of this
version; where it names none, links become their text, and pictures go. hatchling runs this when it builds the package.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)")


def page(readme: str, repository: str | None, tag: str) -> str:
    """README.md for readers who have no other file of the repository."""

    def elsewhere(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if repository:
            return f"{picture}[{text}]({repository.rstrip('/')}/{'raw' if picture else 'blob'}/{tag}/{target})"
        return "" if picture else text

    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(elsewhere, readme))


class PackagePage(MetadataHookInterface):
    """Called by hatchling: `readme` is dynamic in pyproject.toml."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        version = re.search(r'^__version__ = "(.+)"$', (root / "tfmigrate" / "__init__.py").read_text(), flags=re.M)
        assert version is not None
        text = (root / "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {"content-type": "text/markdown", "text": page(text, repository, f"v{version[1]}")}
