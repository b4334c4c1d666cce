"""Text from others in every form of report: no form is broken by it, and no terminal obeys it."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tests.conftest import Tfmigrate, git
from tests.verify.simulated import Training, migrated
from tests.verify.test_page import build
from tfmigrate import cli
from tfmigrate.printable import everywhere, uncoloured, visible
from tfmigrate.report import diff, github, junit, sarif, terminal, text
from tfmigrate.report import json as json_report
from tfmigrate.result import FileResult, Finding, Result
from tfmigrate.settings import Format
from tfmigrate.verify.report import junit as verify_junit
from tfmigrate.verify.report import page, pull_request
from tfmigrate.verify.report import terminal as verify_terminal

BYTES = "".join(map(chr, range(256)))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff\ufffe\uffff"
CLEAN = "\x1b[2J\x1b[H0 files checked, nothing to migrate.\x1b[8m"
HOSTILE = {
    "every byte": BYTES,
    "bidi": f"a {BIDI} b",
    "clear the screen": CLEAN,
    "title": "\x1b]0;pwned\x07 \x9b31m \x90q\x9c",
    "lines": "x\r\n::error file=a::b\n##[error]c\u2028d\x85e\x0bf\x0cg",
    "bytes of a name": "".join(map(chr, range(0xDC80, 0xDD00))),
    "markup": "[red]x[/red] [/] ]]> <b>&amp; --> ${{ x }} %0A `` ``` |",
}
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def obeyed(shown: str, allowed: str = "\n") -> set[str]:
    """The characters that a terminal, or a reader of XML, would not show."""
    return {one for one in shown if not one.isprintable() and one not in allowed and one not in "\xa0\u3000"}


def hostile(words: str) -> Result:
    finding = Finding(2, 1, "TFM001", f"say {words}", "rewrite", trail=(words,))
    before, after = f"x = 1\ny = '{words}' # \u202e\n", "x = 1\ny = 2\n"
    encodable = before.encode("utf-8", "replace").decode()
    return Result(
        (
            FileResult(
                words.replace("\0", "") or "x",
                "migrated",
                (finding, replace(finding, action="refuse")),
                before=encodable,
                after=after,
            ),
            FileResult(f"other {words}".replace("\0", ""), "error", error=f"died: {words}"),
            FileResult("third.py", "skipped", error=words),
        ),
        3,
    )


@pytest.fixture(params=HOSTILE.values(), ids=HOSTILE)
def words(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_text(words: str) -> None:
    shown = text.render(hostile(words))
    assert not obeyed(shown)
    assert len(shown.splitlines()) == 6
    assert shown.splitlines()[-2].startswith("3 files checked: ")
    assert shown.splitlines()[-1].startswith("Left to do by hand: ")


def test_terminal(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    shown = terminal.render(hostile(words))
    assert not obeyed(COLOURS.sub("", shown))
    assert set(COLOURS.findall(shown)) <= {
        f"\x1b[{n}m" for n in ("0", "1", "2", "31", "32", "33", "36", "1;31", "1;32")
    }


def test_github(words: str) -> None:
    shown = github.render(hostile(words))
    assert not obeyed(shown)
    assert [line.split(" ")[0] for line in shown.splitlines()[:-2]] == ["::warning", "::error", "::error", "::notice"]


def test_junit(words: str) -> None:
    shown = junit.render(hostile(words))
    assert not obeyed(shown, "\n\t")
    suite = ElementTree.fromstring(shown.encode())[0]
    assert [case.tag for case in suite] == ["testcase"] * 3
    assert suite[2].find("skipped") is not None


@pytest.mark.parametrize("form", [json_report, sarif])
def test_json_and_sarif(words: str, form: object) -> None:
    shown = form.render(hostile(words))  # type: ignore[attr-defined]
    assert shown.isascii()
    assert not obeyed(shown)
    document = json.loads(shown)
    json.dumps(document, ensure_ascii=False).encode()  # no lone surrogates, which other readers refuse
    if form is json_report:
        assert not obeyed(document["files"][0]["findings"][0]["message"])
    else:
        assert not obeyed(document["runs"][0]["results"][0]["message"]["text"])


def test_the_path_of_json_is_the_path() -> None:
    odd = hostile("a\n\x1b\u202e.py")
    assert json.loads(json_report.render(odd))["files"][0]["path"] == "a\n\x1b\u202e.py"


@pytest.mark.parametrize("name", ["new\nline \x1b[2J\u202e.py", "bytes \udcff.py", 'tab\t"quote\\.py', "\x7f.py"])
def test_a_patch_in_a_pipe_is_one_that_git_takes(project: Path, name: str) -> None:
    git("init", "-q")
    before, after = f"a = '{CLEAN}\x85\u202e\x0c'\nb\r\n", "a = 1\nb\r\n"
    Path(name).write_bytes(before.encode())
    patch = diff.render(Result((FileResult(name, "migrated", before=before, after=after),), 1))
    Path("the.patch").write_bytes(patch.encode("utf-8", "surrogateescape"))
    git("apply", "the.patch")
    assert Path(name).read_bytes() == after.encode()


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


CODE = f"""\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model  # {CLEAN}\u202e

model = Sequential([Dense(1, input_shape=(4,), name="\u202e {CLEAN}")])
parallel = multi_gpu_model(model, 2)  # tab\there {CLEAN}
parallel.compile("sgd", "mse")
parallel.fit(x, y, **odd("\u202e {CLEAN}"))
"""
REFUSED = f"""\
from keras.utils import multi_gpu_model  # {CLEAN}\u202e

model = multi_gpu_model(build("\u202e {CLEAN}"), gpus=2, **odd)
"""
LIVE = re.compile(r"\x1b\[\?25[lh]|\r?\x1b\[1A|\r|\x1b\[2K(?!\d)")
"""How the table of losses that verify shows while it runs moves the cursor."""

PROGRESS = re.compile(r"\r\x1b\[K(?:\d+ of \d+ programs)?")
"""The line that check and fix show, and take away, where they need more than a second."""


def printed(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What a command prints on both streams, which are terminals."""
    raw = io.BytesIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Terminal(raw, encoding="utf-8"))
        patched.setattr(sys, "stderr", Terminal(raw, encoding="utf-8"))
        patched.setenv("COLUMNS", "200")
        cli.run(list(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        return raw.getvalue().decode()


def commands(path: str) -> Iterator[tuple[str, ...]]:
    yield from (("check", ".", "--format", form) for form in get_args(Format))
    yield ("fix", "--diff", ".")
    yield ("explain", f"{path}:3")
    yield ("explain", f"{path}:1")
    yield ("explain", f"{path} gone:1")
    yield ("check", f"{path} gone")
    yield ("check", f"--{path}")
    yield ("check", "--select", path, ".")
    yield ("check", "--write-baseline", f"{path}.json", ".")
    yield ("check", "--baseline", f"{path}.json", ".")
    yield ("check", "--changed=" + path, ".")
    yield ("checkpoint", path, f"{path}.h5")
    yield ("fix", ".")


def verifications(path: str) -> Iterator[tuple[str, ...]]:
    yield ("verify", path)
    yield ("verify", f"{path} gone", path)


@pytest.mark.parametrize("commands", [commands, pytest.param(verifications, marks=pytest.mark.runs_tensorflow)])
def test_no_command_prints_at_a_terminal_what_it_obeys(
    commands: Callable[[str], Iterator[tuple[str, ...]]], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"a{CLEAN.replace('/', '')}\u202e\n\x9b.py"
    Path(path).write_text(CODE)
    Path("refused.py").write_text(REFUSED)
    Path("broken\x1b[2J.py").write_text("from keras.utils import multi_gpu_model\nprint 'x\x1b[2J'\n")
    for command in commands(path):
        shown = PROGRESS.sub("", printed(monkeypatch, *command))
        assert shown, command
        bare = COLOURS.sub("", LIVE.sub("", shown) if "verify" in command else shown)
        assert not obeyed(bare, "\n\t" if "--diff" in command else "\n"), command
        assert "\x1b[8m" not in shown
        assert "\x1b[2J" not in shown


def test_in_a_pipe_the_same_is_clean(project: Path, tfmigrate: Tfmigrate) -> None:
    path = f"a{CLEAN.replace('/', '')}\u202e\n\x9b.py"
    Path(path).write_text(CODE)
    for form in get_args(Format):
        told = tfmigrate("check", ".", "--format", form)
        assert not obeyed(told.text), form
    told = tfmigrate("fix", "--diff", ".")
    assert "\x1b[2J" in told.text  # the patch must find the line
    assert not obeyed(told.err)


@pytest.mark.usefixtures("without_pictures")  # No picture says any of the words.
def test_the_verdict_in_every_form(words: str, tmp_path: Path) -> None:
    old = Training()
    report = build(tmp_path, old, migrated(old), "DIFFERENT")
    dirty = replace(
        report,
        reason=words,
        title=words,
        notes=(words,),
        runs=tuple(replace(run, outcome=words, role=run.role) for run in report.runs),
        controls=tuple(replace(one, found=words) for one in report.controls),
    )
    report = everywhere(dirty)
    stream = io.StringIO()
    verify_terminal.show(report, Console(file=stream, width=200, markup=False))
    assert not obeyed(stream.getvalue())
    assert not obeyed(pull_request.render(report))
    page.write(report, tmp_path)
    ElementTree.fromstring((tmp_path / "report.xml").read_bytes())
    json.loads((tmp_path / "report.json").read_text())
    for name in ("report.html", "report.xml", "pull-request.md", "report.json"):
        assert not obeyed((tmp_path / name).read_text(encoding="utf-8"), "\n\t"), name
    # The XML takes care of itself.
    ElementTree.fromstring(verify_junit.render(dirty))


def test_visible() -> None:
    assert visible("plain é 日本 \u3000\xa0") == "plain é 日本 \u3000\xa0"
    assert visible("\x1b[1m\r\n\t\x00\x7f\x9b") == r"\x1b[1m\r\n\t\x00\x7f\x9b"
    assert visible("a\nb\tc", "\n") == "a\nb\\tc"
    assert visible("\u202e\u2066\ufeff\U000e0041\ufffe") == r"\u202e\u2066\ufeff\U000e0041\ufffe"
    assert visible("\udcff\ud800") == r"\xff\ud800"
    assert visible("c:\\x1b") == "c:\\x1b"
    assert uncoloured("\x1b[1;31mred\x1b[0m \x1b[2J") == "red \x1b[2J"
    assert everywhere((["\x1b"], {"\x07": 1.5}, None, Path("\x1b"))) == (
        [r"\x1b"],
        {r"\x07": 1.5},
        None,
        Path("\x1b"),
    )
