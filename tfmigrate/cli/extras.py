"""How to install what an optional command needs, from where this tfmigrate came from."""

from __future__ import annotations

import json
from importlib import metadata


def install_line(extra: str) -> str:
    """The command that adds an extra to this installation: from the folder or repository it was installed from, or by
    name where it came from a package index."""
    try:
        source = _source(metadata.distribution("tfmigrate").read_text("direct_url.json"))
    except metadata.PackageNotFoundError:
        source = ""
    return f"pip install 'tfmigrate[{extra}]{f' @ {source}' if source else ''}'"


def _source(direct_url: str | None) -> str:
    """The address in a direct_url.json, as pip takes it (PEP 610); empty where there is none."""
    if not direct_url:
        return ""
    record = json.loads(direct_url)
    vcs = record.get("vcs_info")
    return f"{vcs['vcs']}+{record['url']}@{vcs['commit_id']}" if vcs else str(record["url"])
