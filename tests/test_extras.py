"""The command that a message gives to install an extra is one that works for this installation."""

from __future__ import annotations

from importlib import metadata

import pytest

from tfmigrate.cli.extras import install_line


class Installed:
    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.direct_url


@pytest.mark.parametrize(
    ("direct_url", "line"),
    [
        (None, "pip install 'tfmigrate[verify]'"),
        (
            '{"url": "file:///home/me/tfmigrate", "dir_info": {"editable": true}}',
            "pip install 'tfmigrate[verify] @ file:///home/me/tfmigrate'",
        ),
        (
            '{"url": "https://example.org/tfmigrate", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            "pip install 'tfmigrate[verify] @ git+https://example.org/tfmigrate@abc'",
        ),
        (
            '{"url": "https://example.org/t.whl", "archive_info": {}}',
            "pip install 'tfmigrate[verify] @ https://example.org/t.whl'",
        ),
    ],
)
def test_where_it_came_from(monkeypatch: pytest.MonkeyPatch, direct_url: str | None, line: str) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(direct_url))
    assert install_line("verify") == line


def test_from_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Installed:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_line("server") == "pip install 'tfmigrate[server]'"
