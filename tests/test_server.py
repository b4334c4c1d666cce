"""The language server as an editor sees it: a real client starts `tfmigrate server` and speaks to it over its pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, Tfmigrate

pytest.importorskip("pygls")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

pytestmark = pytest.mark.starts_processes

TRAIN = """\
# \N{PARTY POPPER} the trainer
from keras.utils import multi_gpu_model
from nets import build

model = build()
parallel_model = multi_gpu_model(model, gpus=2); name = "\N{PARTY POPPER}"; other = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
"""
ONE = TRAIN.replace("; other = multi_gpu_model(model, gpus=2)", "")
NETS = """\
from keras.layers import Dense
from keras.models import Sequential


def build():
    return Sequential([Dense(1, input_shape=(4,))])
"""
SINGLE = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
"""
IDLE = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential

strategy = tf.distribute.MirroredStrategy()
model = Sequential([Input((4,)), Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(x, y, batch_size=64)
"""


class Editor:
    """A client with the diagnostics that it was sent last."""

    def __init__(self) -> None:
        self.client = LanguageClient("an-editor", "1")
        self.told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda told: self.told.put_nowait(told))
        self.logged: asyncio.Queue[types.LogMessageParams] = asyncio.Queue()
        self.client.feature(types.WINDOW_LOG_MESSAGE)(lambda logged: self.logged.put_nowait(logged))

    async def open(self, path: Path) -> list[types.Diagnostic]:
        document = types.TextDocumentItem(path.as_uri(), "python", 1, path.read_text())
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return await self.diagnostics(path)

    async def save(self, path: Path, text: str) -> list[types.Diagnostic]:
        path.write_text(text)
        self.change(path, text)
        parameters = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(path.as_uri()))
        self.client.text_document_did_save(parameters)
        return await self.diagnostics(path)

    def change(self, path: Path, text: str) -> None:
        document = types.VersionedTextDocumentIdentifier(version=2, uri=path.as_uri())
        changes = [types.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))

    async def diagnostics(self, path: Path) -> list[types.Diagnostic]:
        while True:
            parameters = await asyncio.wait_for(self.told.get(), 60)
            if parameters.uri == path.as_uri():
                return list(parameters.diagnostics)

    async def actions(self, path: Path, line: int, *only: str) -> list[types.CodeAction]:
        place = types.Range(types.Position(line, 0), types.Position(line, 0))
        context = types.CodeActionContext([], only=list(only) or None)
        parameters = types.CodeActionParams(types.TextDocumentIdentifier(path.as_uri()), place, context)
        found = await self.client.text_document_code_action_async(parameters)
        return [one for one in found or () if isinstance(one, types.CodeAction)]

    async def hover(self, path: Path, line: int) -> str:
        document = types.TextDocumentIdentifier(path.as_uri())
        found = await self.client.text_document_hover_async(types.HoverParams(document, types.Position(line, 3)))
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value


def applied(edit: types.WorkspaceEdit | None) -> dict[str, str]:
    """The texts of the files, by name, after an editor has applied an edit."""
    assert edit is not None
    texts = {}
    for uri, edits in (edit.changes or {}).items():
        path = Path(uri.removeprefix("file://"))
        lines = path.read_text().splitlines(keepends=True)
        for one in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
            start, end = one.range.start, one.range.end
            head, _ = cut(lines, start)
            _, tail = cut(lines, end)
            lines[start.line : end.line + 1] = [head + one.new_text + tail]
        texts[path.name] = "".join(lines)
    return texts


def cut(lines: list[str], place: types.Position) -> tuple[str, str]:
    """A line before and after a column, which counts UTF-16 units."""
    units = (lines[place.line] if place.line < len(lines) else "").encode("utf-16-le")
    return units[: 2 * place.character].decode("utf-16-le"), units[2 * place.character :].decode("utf-16-le")


def session(talk: Callable[[Editor], Awaitable[None]], folder: Path) -> None:
    """One server for a conversation; it must end when it is told to."""

    async def whole() -> None:
        editor = Editor()
        await editor.client.start_io(sys.executable, "-m", "tfmigrate", "server", env={"PYTHONPATH": str(ROOT)})
        try:
            await editor.client.initialize_async(
                types.InitializeParams(types.ClientCapabilities(), root_uri=folder.as_uri())
            )
            editor.client.initialized(types.InitializedParams())
            await talk(editor)
        finally:
            await editor.client.shutdown_async(None)
            editor.client.exit(None)
            await asyncio.wait_for(editor.client.stop(), 20)

    asyncio.run(whole())


def test_a_program_of_two_files(project: Path, tfmigrate: Tfmigrate) -> None:
    train, nets = project / "train.py", project / "nets.py"
    train.write_text(ONE)
    nets.write_text(NETS)

    async def talk(editor: Editor) -> None:
        found = {one.code: one for one in await editor.open(train)}
        wrap = found["TFM001"]
        assert wrap.range.start == types.Position(5, 17)
        assert wrap.range.end.character == len(ONE.splitlines()[5]) + 1, "the emoji is two UTF-16 units"
        assert (wrap.source, wrap.severity) == ("tfmigrate", types.DiagnosticSeverity.Warning)
        assert found["TFM003"].range.start.line == 1
        page = await editor.hover(train, 5)
        assert page.startswith("# multi_gpu_model becomes")
        assert "**TFM001** `multi-gpu-model`: safe fix" in page
        assert await editor.hover(train, 3) == ""
        quick, whole, skip = await editor.actions(train, 5)
        assert quick.title == whole.title == "Migrate the program of train.py (2 files)"
        assert skip.title == "Leave this line alone (skip TFM001)"
        assert applied(skip.edit)["train.py"].splitlines()[5].endswith("  # tfmigrate: skip[TFM001]")
        (all_of_it,) = await editor.actions(train, 0, "source.fixAll")
        migrated = applied(all_of_it.edit)
        assert applied(quick.edit) == migrated
        assert await editor.actions(train, 3) == []
        editor.change(train, "\n" + ONE)
        assert await editor.actions(train, 6) == [], "lines have moved, and nothing is saved"
        assert tfmigrate("fix").code == 0
        assert migrated == {"train.py": train.read_text(), "nets.py": nets.read_text()}
        assert await editor.save(train, train.read_text()) == []

    session(talk, project)


def test_one_file_mistakes_and_unsafe_fixes(project: Path) -> None:
    train, idle = project / "train.py", project / "idle.py"
    train.write_text(SINGLE)
    idle.write_text(IDLE)

    async def talk(editor: Editor) -> None:
        assert {one.code for one in await editor.open(train)} == {"TFM001", "TFM003", "TFM203"}
        assert (await editor.actions(train, 5))[0].title == "Migrate train.py"
        assert await editor.save(train, "def broken(:  # multi_gpu_model\n") == []
        assert await editor.save(train, SINGLE.replace("gpus=2)", "gpus=2)  # tfmigrate: skip")) == []
        (finding,) = await editor.open(idle)
        assert (finding.code, finding.message.endswith("[can be rewritten with --unsafe-fixes]")) == ("TFM427", True)
        unsafe, skip = await editor.actions(idle, 5)
        assert unsafe.title == "Migrate idle.py, with unsafe fixes"
        assert "strategy.scope()" in applied(unsafe.edit)["idle.py"]
        assert skip.title == "Leave this line alone (skip TFM427)"
        # A configuration that cannot be read ends nothing.
        (project / "pyproject.toml").write_text("[tool.tfmigrate]\nno = 1\n")
        parameters = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(idle.as_uri()))
        editor.client.text_document_did_save(parameters)
        while "pyproject.toml" not in (await asyncio.wait_for(editor.logged.get(), 60)).message:
            pass
        (project / "pyproject.toml").unlink()
        assert len(await editor.save(idle, IDLE)) == 1

    session(talk, project)


def test_the_server_needs_its_extra(tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "tfmigrate.cli.language_server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls.uris", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    done = tfmigrate.exits(2, "server")
    assert "pip install 'tfmigrate[server]" in done.err
