"""The patch is proven with git itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tfmigrate.files import source
from tfmigrate.report import diff
from tfmigrate.result import FileResult, Result

BODY = "".join(f"line {n}\n" for n in range(30))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BODY.encode(), BODY.replace("line 3\n", "").replace("line 20\n", "new\nnewer\n").encode()),
        (BODY.replace("\n", "\r\n").encode(), BODY.replace("\n", "\r\n").replace("line 3", "new").encode()),
        (b"a\nb", b"a\nc"),
        (b"a\nb", b"a\nb\nc\n"),
        (b"a\nb\n", b"a\nc"),
        (b"a\rb\rc", b"a\rB\rc"),
        (b"a\r\nb\nc\x0cd\ne", b"a\r\nB\nc\x0cd\ne"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfc\nb\n"),
        (b"# coding: latin-1\n# \xe9\nb\n", b"# coding: latin-1\n# \xe9\nc # \xe8\n"),
        ("# é 日本\nb\n".encode(), "# é 日本\nc\n".encode()),
        (b"-- a\n++ b\n", b"++ b\n"),
    ],
)
@pytest.mark.parametrize("path", ["a.py", "sub dir/a b.py", 'qu"ote\\é.py', "../project/sub/a.py"])
def test_git_apply_turns_before_into_after(project: Path, before: bytes, after: bytes, path: str) -> None:
    git("init", "-q")
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(before)
    old, new = source.decode(before), source.decode(after)
    result = Result((FileResult(path, "migrated", before=old.text, after=new.text, encoding=old.encoding),), 1)
    patch = diff.render(result).encode("utf-8", "surrogateescape")
    Path("the.patch").write_bytes(patch)
    git("apply", "--check", "the.patch")
    git("apply", "the.patch")
    assert file.read_bytes() == after


def test_several_files_in_one_patch_and_unchanged_ones_left_out(project: Path, result: Result) -> None:
    patch = diff.render(result)
    assert patch.count("diff --git") == 1
    assert "-y = wrap(m)\n+y = m\n" in patch
    assert diff.render(Result((), 3)) == ""
