"""The language server: diagnostics on opening and saving, rule pages on hover, and migrations as code actions.

A document is checked as it lies on the disk, with all files of its program, so what an action does is what `fix` does.
While a document has changes that are not saved, no action is offered for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from tfmigrate import __version__, migrate, rules, settings
from tfmigrate.errors import UserError
from tfmigrate.printable import visible
from tfmigrate.report.severity import severity
from tfmigrate.report.text import outcome
from tfmigrate.result import FileResult, Finding, lines_of
from tfmigrate.settings import Settings

NAME = "tfmigrate"
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{NAME}"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


@dataclass
class _Checked:
    """The programs of the open documents, by address: each document's own result first."""

    programs: dict[str, list[FileResult]] = field(default_factory=dict)

    def findings(self, uri: str, place: types.Range) -> list[Finding]:
        """What is found in a document on the lines of a range."""
        file = next(iter(self.programs.get(uri, ())), None)
        all_findings = file.findings if file else ()
        return [
            finding
            for finding in all_findings
            if place.start.line <= finding.line - 1 <= place.end.line and not _is_quiet(finding)
        ]


def build() -> LanguageServer:
    """A server that is ready to be started."""
    server = LanguageServer(NAME, __version__)
    checked = _Checked()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        _check(server, checked, parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(parameters: types.DidSaveTextDocumentParams) -> None:
        changed = parameters.text_document.uri
        for uri in dict.fromkeys((changed, *checked.programs)):  # Another open file may belong to its program.
            _check(server, checked, uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        checked.programs.pop(parameters.text_document.uri, None)
        _publish(server, parameters.text_document.uri, ())

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(parameters: types.HoverParams) -> types.Hover | None:
        uri, place = parameters.text_document.uri, parameters.position
        findings = checked.findings(uri, types.Range(place, place))
        known = rules.by_code()
        pages = [known[code].page for code in dict.fromkeys(finding.code for finding in findings) if code in known]
        if not pages:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages)))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
    )
    def actions(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        uri = parameters.text_document.uri
        if uri not in checked.programs or not _is_saved(server, checked.programs[uri][0], uri):
            return []
        findings = checked.findings(uri, parameters.range)
        return list(_actions(checked.programs[uri], findings, parameters.context))

    return server


def _check(server: LanguageServer, checked: _Checked, uri: str) -> None:
    """Check a document with its program, and publish what was found; what cannot be checked is logged."""
    path = uris.to_fs_path(uri)
    if path is None or not path.endswith(".py") or not Path(path).is_file():
        return
    try:
        program = migrate.check_program(path, _settings(path))
    except UserError as error:
        server.window_log_message(types.LogMessageParams(types.MessageType.Error, f"{NAME}: {error}"))
        return
    checked.programs[uri] = program
    if program[0].error:
        message = f"{NAME}: {path}: {program[0].error}"
        server.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))
    _publish(
        server, uri, [_diagnostic(program[0], finding) for finding in program[0].findings if not _is_quiet(finding)]
    )


def _settings(path: str) -> Settings:
    return replace(settings.load(Path(path).parent, {}), jobs=1)


def _publish(server: LanguageServer, uri: str, diagnostics: Sequence[types.Diagnostic]) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, list(diagnostics)))


def _is_quiet(finding: Finding) -> bool:
    return finding.action == "suppressed"


def _diagnostic(file: FileResult, finding: Finding) -> types.Diagnostic:
    line = file.line_of(finding).rstrip()
    page = rules.address(finding.code)
    start = finding.column - 1
    return types.Diagnostic(
        types.Range(
            types.Position(finding.line - 1, _units(line[:start])),
            types.Position(finding.line - 1, max(_units(line), _units(line[:start]) + 1)),
        ),
        f"{visible(finding.message, chr(10))} [{outcome(finding)}]",
        severity=_SEVERITIES[severity(finding)],
        code=finding.code,
        code_description=types.CodeDescription(page) if page else None,
        source=NAME,
    )


def _is_saved(server: LanguageServer, file: FileResult, uri: str) -> bool:
    """Whether a document reads in the editor as it did when it was checked."""
    text = server.workspace.get_text_document(uri).source
    return not file.before or _without_ends(text) == _without_ends(file.before)


def _without_ends(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in lines_of(text)]


def _actions(
    program: Sequence[FileResult], findings: Sequence[Finding], context: types.CodeActionContext
) -> Iterator[types.CodeAction]:
    """The migration of the file's program, and a comment that leaves the line alone."""
    changed = [file for file in program if file.changed]
    asks_for_all = context.only is not None and any(FIX_ALL.startswith(str(kind)) for kind in context.only)
    if program[0].changed and (findings or asks_for_all):
        title = _title(program[0], changed)
        edit = _edit(changed)
        if not asks_for_all:
            yield types.CodeAction(title, types.CodeActionKind.QuickFix, edit=edit, diagnostics=context.diagnostics)
        yield types.CodeAction(title, FIX_ALL, edit=edit)
    if asks_for_all:
        return
    if any(finding.unsafe for finding in findings):
        with_unsafe = migrate.check_program(program[0].path, replace(_settings(program[0].path), unsafe_fixes=True))
        more = [file for file in with_unsafe if file.changed]
        if more:
            title = f"{_title(with_unsafe[0], more)}, with unsafe fixes"
            yield types.CodeAction(title, types.CodeActionKind.QuickFix, edit=_edit(more))
    for finding in findings:
        line = program[0].line_of(finding)
        end = types.Position(finding.line - 1, _units(line.rstrip()))
        skip = types.TextEdit(types.Range(end, end), f"  # tfmigrate: skip[{finding.code}]")
        if "# tfmigrate: skip" not in line and not line.rstrip().endswith("\\"):
            yield types.CodeAction(
                f"Leave this line alone (skip {finding.code})",
                types.CodeActionKind.QuickFix,
                edit=types.WorkspaceEdit(changes={uris.from_fs_path(program[0].path) or "": [skip]}),
            )


def _title(file: FileResult, changed: Sequence[FileResult]) -> str:
    """What a migration is called: that of the file, or that of its program, with how many files that are."""
    name = Path(file.path).name
    return f"Migrate {name}" if len(changed) == 1 else f"Migrate the program of {name} ({len(changed)} files)"


def _edit(changed: Iterable[FileResult]) -> types.WorkspaceEdit:
    return types.WorkspaceEdit(
        changes={uris.from_fs_path(file.path) or "": list(_text_edits(file.before, file.after)) for file in changed}
    )


def _text_edits(before: str, after: str) -> Iterator[types.TextEdit]:
    """Whole lines, so that the editor keeps its cursors and marks elsewhere."""
    old, new = lines_of(before), lines_of(after)
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield types.TextEdit(types.Range(_line(old, start), _line(old, end)), "".join(new[first:last]))


def _line(lines: Sequence[str], number: int) -> types.Position:
    """Where a line begins, or where the text ends."""
    if number < len(lines) or not lines or lines[-1].endswith(("\n", "\r")):
        return types.Position(number, 0)
    return types.Position(number - 1, _units(lines[-1]))


def _units(text: str) -> int:
    """Length in UTF-16 code units, in which the protocol counts columns by default."""
    return len(text.encode("utf-16-le")) // 2
