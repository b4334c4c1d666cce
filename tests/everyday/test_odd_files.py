"""Every kind of thing that a file system can hold, under every name that the tool reads: nothing hangs, nothing ends in
a traceback, and the good file beside it is migrated all the same."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.conftest import Tfmigrate
from tfmigrate.files import baseline, pins, regular
from tfmigrate.verify.judge.asks import trains_estimators
from tfmigrate.verify.run.program import program_of
from tfmigrate.verify.run.scratch import copy_program

pytestmark = pytest.mark.usefixtures("each_program_once")
GOOD = (
    "from keras.layers import Dense\nfrom keras.models import Sequential\nfrom keras.utils import multi_gpu_model\n\n"
    "model = Sequential([Dense(1, input_shape=(4,))])\nparallel = multi_gpu_model(model, gpus=2)\n"
    "parallel.compile('sgd', 'mse')\nparallel.fit_generator(batches(), steps_per_epoch=4)\n"
)
SECONDS = 30


def a_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's address has 108 bytes at most
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


def a_loop(path: Path) -> None:
    other = path.with_name(path.name + ".other")
    path.symlink_to(other.name)
    other.symlink_to(path.name)


def a_sparse_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def a_hard_link(path: Path) -> None:
    twin = path.with_name("twin.txt")
    twin.write_text("x = 1\n")
    os.link(twin, path)


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link to a pipe": lambda path: (os.mkfifo(path.with_name("the-pipe")), path.symlink_to("the-pipe")),
    "socket": a_socket,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to("/dev/null"),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "links in a circle": a_loop,
    "link out of the tree": lambda path: path.symlink_to("/etc/passwd"),
    "link to a folder": lambda path: path.symlink_to("/usr"),
    "link to the folder it lies in": lambda path: path.symlink_to("."),
    "folder": lambda path: path.mkdir(),
    "full folder": lambda path: (path.mkdir(), (path / "x.py").write_text(GOOD)),
    "empty file": lambda path: path.touch(),
    "huge sparse file": a_sparse_file,
    "hard link": a_hard_link,
    "null bytes": lambda path: path.write_bytes(b"\0" * 100),
    "no text": lambda path: path.write_bytes(bytes(range(256))),
    "malformed patterns": lambda path: path.write_bytes(b"!\n\\\n[z-a]\nfoo\\\n"),
}
NO_SETTINGS = {"link out of the tree", "huge sparse file", "null bytes", "no text", "malformed patterns"}
"""Where a pyproject.toml is there and is not TOML: nobody knows what was asked for, so nothing is done."""
NAMES = (
    "x.py", "x.ipynb", "setup.py", "setup.cfg", "pyproject.toml", "requirements.txt", "constraints.txt", "Pipfile",
    "environment.yml", "conda.yaml", "Dockerfile", ".gitignore", "requirements", "docker", ".venv", "site-packages",
    "keras.py", "batches.py",
)  # fmt: skip
ODD_NAMES = (
    b"no utf-8 \xff\xfe.py", b"line\nbreak.py", b"\x1b[2J\x1b[Hclean.py", b"tab\tand\rreturn.py", b"-rf.py",
    b"bidi \xe2\x80\xae yp.py", b"a" * 252 + b".py", b" .py", b"%0A::error::x.py", b"[red]x[red].py", b"'\".py",
    b"*.py", b"x{y}.py", b"#.py", b"\x7f.py", b"c:x.py", b"\\x.py",
)  # fmt: skip


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """What takes longer than SECONDS has hung: it ends with the place where it waits."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"hangs in {frame}")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_good_file_beside_it_is_migrated(project: Path, tfmigrate: Tfmigrate, name: str, kind: str) -> None:
    KINDS[kind](Path(name))
    Path("good.py").write_text(GOOD)
    checked = tfmigrate("check", ".", "--jobs", "1")
    if name == "pyproject.toml" and kind in NO_SETTINGS:
        assert (checked.code, "pyproject.toml: cannot be read: " in checked.err) == (2, True)
        return
    fixed = tfmigrate("fix", ".", "--jobs", "1")
    for outcome in (checked, fixed):
        assert "Traceback" not in outcome.err
        assert "internal error" not in outcome.err
    assert "MirroredStrategy" in Path("good.py").read_text()
    assert "good.py:6:12: TFM001" in checked.text
    if kind in ("pipe", "socket", "endless device") and name not in (
        "requirements",
        "docker",
        ".venv",
        "site-packages",
    ):
        assert [line for line in fixed.text.splitlines() if line.startswith(f"{name}: skipped: ")]
        assert fixed.code == 0


def test_a_link_out_of_the_tree_is_said_once_and_decides_nothing(project: Path, tfmigrate: Tfmigrate) -> None:
    outside = project.parent / "outside.py"
    outside.write_text(GOOD)
    Path("link.py").symlink_to(outside)
    told = tfmigrate("check", ".")
    assert (told.code, told.text.count("link.py: skipped: is a link to")) == (0, 1)
    Path("good.py").write_text(GOOD)
    told = tfmigrate("fix", ".")
    assert (told.code, told.text.count("link.py: skipped: is a link to")) == (0, 1)
    assert outside.read_text() == GOOD
    assert tfmigrate("check", "link.py").code == 2


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_file_of_any_name_is_migrated(project: Path, tfmigrate: Tfmigrate, name: bytes) -> None:
    path = Path(os.fsdecode(name))
    path.write_text(GOOD)
    for form in ("text", "json", "sarif", "github", "junit"):
        told = tfmigrate("check", ".", "--jobs", "1", "--format", form)
        assert (told.code, told.err) == (1, "")
        assert told.text.isascii() or form == "text"
    assert tfmigrate("check", "--write-baseline", "known.json", ".").code == 0
    assert tfmigrate("check", "--baseline", "known.json", ".").code == 0
    assert tfmigrate("fix", ".", "--jobs", "1").code in (0, 1)
    assert "MirroredStrategy" in path.read_text()


@pytest.mark.parametrize("kind", ["pipe", "socket", "endless device", "link to itself", "links in a circle", "folder"])
def test_a_named_one_is_a_line_and_the_rest_goes_on(project: Path, tfmigrate: Tfmigrate, kind: str) -> None:
    KINDS[kind](Path("odd.py"))
    Path("good.py").write_text(GOOD)
    told = tfmigrate("fix", "odd.py", "good.py")
    assert "internal error" not in told.err
    assert told.text.startswith("good.py:")
    assert ("odd.py: error: " in told.text) == (kind != "folder")
    assert "MirroredStrategy" in Path("good.py").read_text()
    for command in (("verify", "odd.py"), ("verify", "good.py", "odd.py"), ("explain", "odd.py:1")):
        told = tfmigrate(*command)
        assert told.code in (1, 2)
        assert "internal error" not in told.err
    told = tfmigrate.exits(2, "checkpoint", "odd.py", "new.h5")
    assert "odd.py" in told.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_baseline_of_any_kind(project: Path, tfmigrate: Tfmigrate, kind: str) -> None:
    KINDS[kind](Path("known.json"))
    told = tfmigrate.exits(2, "check", "--baseline", "known.json", ".")
    assert "known.json" in told.err
    assert "internal error" not in told.err
    with pytest.raises(baseline.BaselineError):
        baseline.read(Path("known.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_program_round_it_is_copied_for_verify(project: Path, tmp_path: Path, kind: str) -> None:
    KINDS[kind](project / "odd.py")
    (project / "good.py").write_text("import odd\nfrom " + "a" * 300 + " import x\n")
    notes = copy_program(project, tmp_path / "copy", 1 << 20)
    copied = {path.name for path in (tmp_path / "copy").iterdir()} if kind != "link to a folder" else {"good.py"}
    assert "good.py" in copied
    assert all(note.startswith(("odd.py ", "odd.py.other ", "the-pipe ")) for note in notes)
    assert len(list((tmp_path / "copy").rglob("good.py"))) == 1
    assert not any(path.is_fifo() for path in (tmp_path / "copy").rglob("*"))
    assert "good.py" in program_of(project, "good.py")
    assert trains_estimators(project / "good.py", project) is False


def test_folders_that_are_links_to_each_other_have_an_end(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / "source" / one).mkdir(parents=True)
        (tmp_path / "source" / one / "there").symlink_to(f"../{other}")
        (tmp_path / "source" / one / "x.py").touch()
    notes = copy_program(tmp_path / "source", tmp_path / "copy", 1000)
    assert len(list((tmp_path / "copy").rglob("x.py"))) == 4
    assert [note.split(" ")[0] for note in sorted(notes)] == ["a/there/there", "b/there/there"]


def test_what_nobody_may_read_is_a_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "setup.py").write_text("install_requires=['keras==2.2.4']")
    opening = os.open

    def refused(path: object, *rest: int, **named: int) -> int:
        if str(path).endswith("setup.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return opening(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refused)
    assert pins.written_for(project) is None
    assert list(pins.unreadable(project)) == [(project / "setup.py", "Permission denied")]


def test_an_open_quote_on_the_command_line(project: Path, tfmigrate: Tfmigrate) -> None:
    for name in ("a.py", "b.py"):
        Path(name).write_text(GOOD)
    told = tfmigrate.exits(2, "verify", "a.py", "b.py", "--args", "--name 'x")
    assert "--args" in told.err
    assert "no closing quotation" in told.err
    assert "internal error" not in told.err


@pytest.mark.parametrize("pattern", ["!", "x\\", "[z-a]"])
def test_a_malformed_pattern(project: Path, tfmigrate: Tfmigrate, pattern: str) -> None:
    Path("good.py").write_text(GOOD)
    told = tfmigrate.exits(2, "check", "--exclude", pattern, ".")
    assert "exclude" in told.err
    assert "internal error" not in told.err
    Path("pyproject.toml").write_text(f"[tool.tfmigrate.per-file-ignores]\n'{pattern}' = ['TFM2']\n")
    told = tfmigrate("check", ".")
    assert "per-file-ignores" in told.err
    assert "internal error" not in told.err


def test_a_read_is_bounded_and_says_why(tmp_path: Path) -> None:
    a_sparse_file(tmp_path / "x")
    with pytest.raises(OSError, match="larger than 100 MiB"):
        regular.read(tmp_path / "x")
    with pytest.raises(OSError, match="a device, not a regular file"):
        regular.read("/dev/zero")
    with pytest.raises(IsADirectoryError):
        regular.read(tmp_path)
    with pytest.raises(FileNotFoundError):
        regular.read(tmp_path / "y")
    (tmp_path / "z").write_bytes(b"a" * 100_000)
    assert regular.read(tmp_path / "z") == b"a" * 100_000
