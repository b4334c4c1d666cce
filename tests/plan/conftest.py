"""The tests of the plan ask what is written, not where its lines end: that is for tests/edit and the fixtures."""

from __future__ import annotations

import pytest

from tfmigrate import rewrite


@pytest.fixture(autouse=True)
def _lines_are_not_broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "layout" not in request.keywords:
        monkeypatch.setattr(rewrite, "fitted", lambda before, after: after)
