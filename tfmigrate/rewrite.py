"""understand -> plan -> edit -> guard, for sources in memory. Touches no disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import libcst as cst

from tfmigrate import guard, rules
from tfmigrate.edit.apply import apply
from tfmigrate.files.source import explain_syntax_error
from tfmigrate.plan import codes
from tfmigrate.plan.edits import Plan
from tfmigrate.plan.planner import plan_module
from tfmigrate.result import FileResult, Finding, Status
from tfmigrate.settings import Settings
from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.program import Module
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.suppressions import read_suppressions


def migrate_sources(sources: Mapping[str, str], settings: Settings) -> tuple[FileResult, ...]:
    """The outcome for each source (path -> decoded text, its own newlines kept); `applied` is False throughout."""
    return tuple(_migrate_source(path, text, settings) for path, text in sources.items())


def _migrate_source(path: str, text: str, settings: Settings) -> FileResult:
    try:
        module = Module(path, text)
        guard.compiles(text)
    except cst.ParserSyntaxError as error:
        return FileResult(path, "error", error=explain_syntax_error(text, error.raw_line, error.message), before=text, after=text)
    except (SyntaxError, ValueError) as error:
        message = explain_syntax_error(text, getattr(error, "lineno", None) or 1, str(getattr(error, "msg", error)))
        return FileResult(path, "error", error=message, before=text, after=text)
    plan, uses = _planned(module, settings)
    if not plan.edits:
        return FileResult(path, _status(plan.findings, False), plan.findings, before=text, after=text)
    after = apply(module.tree, plan.edits).code
    left = sum(1 for finding in plan.findings if finding.action in ("refuse", "suppressed"))
    objection = guard.objection(module.tree, after, _uses(after, path), left)
    if objection is not None:
        return _withdrawn(path, text, plan, objection)
    return FileResult(path, _status(plan.findings, after != text), plan.findings, before=text, after=after)


def _planned(module: Module, settings: Settings) -> tuple[Plan, int]:
    facts = interpret(module, settings.aliases)
    plan = plan_module(facts, Scopes(module), settings, rules.all_rules(), read_suppressions(module.text))
    return plan, len({wrap.call for wrap in facts.wraps})


def _uses(text: str, path: str) -> int:
    """Live uses of multi_gpu_model in a text."""
    return len({wrap.call for wrap in interpret(Module(path, text)).wraps})


def _withdrawn(path: str, text: str, plan: Plan, objection: str) -> FileResult:
    """Nothing is done to a file whose result failed the last check; each use in it is refused."""
    findings = tuple(
        replace(
            finding,
            code=codes.NOT_FOLLOWED,
            message=f"left as it is, because {objection}; please report this file",
            action="refuse",
        )
        for finding in plan.findings
        if finding.code == codes.MULTI_GPU_MODEL
    )
    return FileResult(path, "refused", findings or plan.findings, before=text, after=text)


def _status(findings: tuple[Finding, ...], changed: bool) -> Status:
    if any(finding.action == "refuse" for finding in findings):
        return "refused"
    return "migrated" if changed else "unchanged"
