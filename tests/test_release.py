"""The release checklist: each thing that it asks for is missed when it is not there."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tfmigrate import __version__, rules

spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
assert spec is not None
assert spec.loader is not None
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)

PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
URLS = "".join(f'{name} = "https://example.org"\n' for name in release.URLS)
READY = f"{PYPROJECT}\n[project.urls]\n{URLS}"
CHANGELOG = "# Changelog\n\n## 1.2.3 (2026-01-02)\n\n- All of it.\n\n## 1.2.2 (2026-01-01)\n"


def problems(pyproject: str = READY, changelog: str = CHANGELOG, ci: str = "    rev: v1.2.3\n") -> list[str]:
    return list(release.metadata_problems(pyproject, changelog, ci, "1.2.3"))


def test_a_project_that_is_ready() -> None:
    assert problems() == []


def test_classifiers_agree_with_the_versions_that_are_supported() -> None:
    assert not any("disagree" in one for one in problems(PYPROJECT))
    assert problems(READY.replace('">=3.10"', '">=3.11"')) == [
        "pyproject.toml: classifiers and requires-python disagree about Python 3.10"
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pyproject": READY.replace("Documentation =", "Docs =")}, "[project.urls] has no Documentation"),
        ({"changelog": CHANGELOG.replace("1.2.3", "1.2.1")}, "the newest section is not that of 1.2.3"),
        ({"changelog": "# Changelog\n"}, "the newest section is not that of 1.2.3"),
        ({"changelog": CHANGELOG.replace("2026-01-02", "not yet released")}, "write `## 1.2.3 (YYYY-MM-DD)`"),
        ({"ci": "rev: v1.2.2\n"}, "names the tag v1.2.2"),
    ],
)
def test_what_is_missing_is_named(changes: dict[str, str], told: str) -> None:
    (problem,) = problems(**changes)
    assert told in problem


def test_a_wheel_without_a_page_or_with_more_than_the_package(tmp_path: Path) -> None:
    wheel = tmp_path / "tfmigrate.whl"
    names = [f"tfmigrate/_rules/{rule.path.name}" for rule in rules.all_rules()] + ["tfmigrate/py.typed"]

    def told(*written: str) -> list[str]:
        with zipfile.ZipFile(wheel, "w") as opened:
            for name in written:
                opened.writestr(name, "")
        return list(release.wheel_problems(wheel))

    assert told(*names, f"tfmigrate-{__version__}.dist-info/METADATA") == []
    assert told(*names[1:]) == [f"tfmigrate.whl: lacks the rule {rules.all_rules()[0].path.name}"]
    assert told(*names, "tests/__init__.py") == ["tfmigrate.whl: holds tests beside the package"]


@pytest.mark.parametrize("repository", [None, "https://example.org/tfmigrate/"])
def test_the_page_for_a_package_index_links_to_nothing_that_it_lacks(
    monkeypatch: pytest.MonkeyPatch, repository: str | None
) -> None:
    interface = types.ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = type("MetadataHookInterface", (), {"root": str(ROOT)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("package_page", ROOT / "tools" / "package_page.py")
    assert spec is not None
    assert spec.loader is not None
    package_page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package_page)
    metadata = {"urls": {"Repository": repository} if repository else {}}
    package_page.PackagePage().update(metadata)
    told = metadata["readme"]
    assert told["content-type"] == "text/markdown"
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", told["text"])
    if repository:
        base = f"https://example.org/tfmigrate/{{}}/v{__version__}/"
        assert {target for _, target in targets} > {base.format("blob") + "docs/guide.md"}
        assert all(target.startswith(base.format("raw" if picture else "blob")) for picture, target in targets)
    else:
        assert not targets
        assert "see Is my script fine?" in told["text"]
