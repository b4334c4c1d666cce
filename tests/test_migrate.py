"""The pipeline, with a toy codemod in its middle (tests/conftest.py)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put
from tfmigrate import migrate, tasks
from tfmigrate.errors import UserError
from tfmigrate.result import Finding
from tfmigrate.settings import Settings

pytestmark = pytest.mark.usefixtures("fake_rewrite")
ONE = Settings(jobs=1)


def test_check_writes_nothing_and_fix_says_applied(project: Path) -> None:
    path = put("a.py", b"x\ny = multi_gpu_model(m)\n")
    (file,) = migrate.check(["."], ONE).files
    assert (file.path, file.status, file.after) == ("a.py", "migrated", "x\ny = scope(m)\n")
    assert file.findings == (Finding(2, 5, "TFM001", "say, rewrite: 5%", "rewrite"),)
    assert path.read_bytes() == b"x\ny = multi_gpu_model(m)\n"
    result = migrate.fix(["."], ONE)
    assert result.files[0].findings == (Finding(2, 5, "TFM001", "say, rewrite: 5%", "rewrite", applied=True),)
    assert path.read_bytes() == b"x\ny = scope(m)\n"
    assert migrate.check(["."], ONE).files == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nmulti_gpu_model\r\nb", b"a\r\nscope\r\nb"),
        (b"\xef\xbb\xbfmulti_gpu_model\n", b"\xef\xbb\xbfscope\n"),
        (b"# coding: latin-1\n# \xe9\nmulti_gpu_model # \xe8\n", b"# coding: latin-1\n# \xe9\nscope # \xe8\n"),
        (b"a\rmulti_gpu_model\rb\n\x0c\n", b"a\rscope\rb\n\x0c\n"),
    ],
)
def test_bytes_outside_the_edit_stay(project: Path, before: bytes, after: bytes) -> None:
    path = put("a.py", before)
    migrate.fix(["a.py"], ONE)
    assert path.read_bytes() == after


def test_a_refused_file_still_gets_its_other_edits(project: Path) -> None:
    path = put("a.py", b"multi_gpu_model\nmulti_gpu_model # refuse\n")
    (file,) = migrate.fix(["a.py"], ONE).files
    assert file.status == "refused"
    assert [finding.applied for finding in file.findings] == [True, False]
    assert path.read_bytes() == b"scope\nmulti_gpu_model # refuse\n"


def test_each_file_that_fails_is_named_and_the_others_go_on(project: Path) -> None:
    put("a_missing_neighbour.py", b"multi_gpu_model\n")
    put("b_bytes.py", b"multi_gpu_model # \xe9\n")
    put("c_syntax.py", b"print 'syntax!' multi_gpu_model\n")
    put("d_crash.py", b"crash! multi_gpu_model\n")
    put("e_readonly.py", b"multi_gpu_model\n").chmod(0o444)
    put("f_plain.py", b"multi_gpu_model\n")
    put("f_unwritable_text.py", b"# coding: latin-1\nmulti_gpu_model # euro\n")
    put("g_unrelated_bytes.py", b"\xe9\n")
    result = migrate.fix([".", "gone.py"], ONE)
    errors = {file.path: file.error or "" for file in result.errors}
    assert list(errors) == [
        "b_bytes.py",
        "c_syntax.py",
        "d_crash.py",
        "e_readonly.py",
        "f_unwritable_text.py",
        "gone.py",
    ]
    assert "line 1: byte 0xe9" in errors["b_bytes.py"]
    assert "looks like Python 2" in errors["c_syntax.py"]
    assert "KeyError: 'lost" in errors["d_crash.py"]
    assert " ... (conftest.py:" in errors["d_crash.py"]
    assert len(errors["d_crash.py"]) < 400
    assert "cannot be written in iso-8859-1" in errors["f_unwritable_text.py"]
    assert "read-only" in errors["e_readonly.py"]
    assert Path("a_missing_neighbour.py").read_bytes() == Path("f_plain.py").read_bytes() == b"scope\n"
    assert Path("e_readonly.py").read_bytes() == b"multi_gpu_model\n"
    assert not any(file.changed for file in result.errors)
    assert {file.path for file in result.errors if file.findings} == {"e_readonly.py"}


def test_a_link_is_kept_and_its_target_replaced(project: Path) -> None:
    put("src/real.txt", b"multi_gpu_model\n")
    os.symlink("real.txt", "src/link.py")
    migrate.fix(["src"], ONE)
    assert os.readlink("src/link.py") == "real.txt"
    assert Path("src/real.txt").read_bytes() == b"scope\n"


def test_no_write_follows_a_link_out_of_the_paths(project: Path) -> None:
    outside = put("outside.py", b"multi_gpu_model\n")
    Path("src").mkdir()
    os.symlink("../outside.py", "src/link.py")
    assert [file.status for file in migrate.fix(["src"], ONE).files] == ["skipped"]
    assert outside.read_bytes() == b"multi_gpu_model\n"


def test_the_pins_of_each_project_are_its_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def note(group: list[tuple[Any, ...]]) -> object:
        seen.update((path, settings.from_version) for path, _, settings, *_ in group)
        return tuple(migrate.FileResult(path, "unchanged") for path, *_ in group)

    monkeypatch.setattr(tasks, "_migrate_group", note)
    for name, pin in (("a", "keras==2.2.4"), ("b", "tensorflow==1.15")):
        put(f"{name}/x.py", b"multi_gpu_model")
        put(f"{name}/requirements.txt", pin.encode())
    put("x.py", b"multi_gpu_model")
    migrate.check(["."], ONE)
    assert seen == {"a/x.py": "keras==2.2.4", "b/x.py": "tensorflow==1.15", "x.py": None}
    migrate.check(["."], Settings(jobs=1, from_version="1.13"))
    assert set(seen.values()) == {"1.13"}


def test_aliases_are_searched_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.py", b"from mylib import to_gpus\n")
    put("b.py", b"nothing\n")
    seen = []

    def note(group: list[tuple[Any, ...]]) -> object:
        seen.extend(path for path, *_ in group)
        return tuple(migrate.FileResult(path, "unchanged") for path, *_ in group)

    monkeypatch.setattr(tasks, "_migrate_group", note)
    migrate.check(["."], Settings(jobs=1, aliases=("mylib.to_gpus",)))
    assert seen == ["a.py"]


class TestFixCopy:
    def test_the_whole_program_is_migrated(self, project: Path) -> None:
        copy = put("copy/train.py", b"multi_gpu_model\n")
        helper = put("copy/helper.py", b"multi_gpu_model\n")
        migrate.fix_copy(Path("train.py"), copy.resolve(), ONE)
        assert copy.read_bytes() == helper.read_bytes() == b"scope\n"

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"x = 1\n", "^train.py: nothing to migrate; pass the script to compare it with as NEW"),
            (b"\nmulti_gpu_model # refuse\n", r"^train.py:2:1: TFM101 say, refuse: 5%; migrate it by hand"),
            (b"print 'multi_gpu_model syntax!'\n", "^train.py: line 1: looks like Python 2"),
        ],
    )
    def test_what_cannot_be_migrated_is_told_of_the_original(self, project: Path, data: bytes, message: str) -> None:
        with pytest.raises(UserError, match=message):
            migrate.fix_copy(Path("train.py"), put("copy/train.py", data).resolve(), ONE)

    def test_the_pins_are_those_of_the_original(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put("src/requirements.txt", b"keras==2.2.4\n")
        copy = put("elsewhere/train.py", b"multi_gpu_model\n").resolve()
        seen = []
        real = tasks._migrate_group
        monkeypatch.setattr(
            tasks, "_migrate_group", lambda group: (seen.append(group[0][2].from_version), real(group))[1]
        )
        migrate.fix_copy(Path("src/train.py"), copy, ONE)
        assert seen == ["keras==2.2.4"]


def test_in_memory(project: Path) -> None:
    file = migrate.migrate_bytes(b"multi_gpu_model", "<stdin>", ONE)
    assert (file.path, file.after) == ("<stdin>", "scope")
    assert migrate.migrate_bytes(b"\xe9", "<stdin>", ONE).status == "error"


def test_check_and_fix_find_the_same_in_what_cannot_be_written(project: Path) -> None:
    put("closed.py", b"multi_gpu_model\n# multi_gpu_model refuse\n").chmod(0o444)
    checked, fixed = migrate.check(["."], ONE), migrate.fix(["."], ONE)
    assert [finding for _, finding in fixed.findings] == [finding for _, finding in checked.findings]
    assert [finding.action for _, finding in fixed.findings] == ["rewrite", "refuse"]
    assert not checked.errors
    assert ["read-only" in (file.error or "") for file in fixed.errors] == [True]


def test_a_file_left_because_of_another_names_that_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("closed.py", b"from plain import *\nmulti_gpu_model\n").chmod(0o444)
    put("plain.py", b"multi_gpu_model\n")
    result = migrate.fix(["."], ONE)
    errors = {file.path: file.error or "" for file in result.errors}
    assert errors["closed.py"].startswith("is read-only")
    assert "because closed.py, a file of the same program, is read-only" in errors["plain.py"]
    assert {file.path for file, finding in result.findings if not finding.applied} == {"closed.py", "plain.py"}
