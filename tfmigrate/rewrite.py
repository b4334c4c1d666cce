"""understand -> plan -> edit -> guard, for sources in memory. Touches no disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import libcst as cst

from tfmigrate import guard, rules
from tfmigrate.edit.apply import apply
from tfmigrate.files.source import explain_syntax_error
from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Plan
from tfmigrate.plan.planner import plan_program
from tfmigrate.result import FileResult, Finding, Status
from tfmigrate.settings import Settings
from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.program import Module, Program
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.suppressions import read_suppressions


def migrate_sources(sources: Mapping[str, str], settings: Settings) -> tuple[FileResult, ...]:
    """The outcome for each source (path -> decoded text, its own newlines kept), as one program with one plan.

    `applied` is False throughout. Where the result of one file fails the last check, every file of the program stays as
    it is.
    """
    read = {path: _parsed(path, text) for path, text in sources.items()}
    modules = [module for module in read.values() if isinstance(module, Module)]
    done = {file.path: file for file in _migrated(modules, settings)} if modules else {}
    return tuple(done[path] if isinstance(module, Module) else module for path, module in read.items())


def _parsed(path: str, text: str) -> Module | FileResult:
    try:
        guard.compiles(text)
        return Module(path, text)
    except cst.ParserSyntaxError as error:
        message = explain_syntax_error(text, error.raw_line, error.message)
    except (SyntaxError, ValueError) as error:
        message = explain_syntax_error(text, getattr(error, "lineno", None) or 1, str(getattr(error, "msg", error)))
    return FileResult(path, "error", error=message, before=text, after=text)


def _migrated(modules: list[Module], settings: Settings) -> list[FileResult]:
    facts = interpret(Program(modules), settings.aliases)
    drafts = {
        module: Draft(facts.modules[module], Scopes(module), settings, read_suppressions(module.text))
        for module in modules
    }
    plans = plan_program(facts, drafts, settings, rules.all_rules())
    after = {module: apply(module.tree, plan.edits).code for module, plan in plans.items()}
    objection = _objection(plans, after, settings)
    if objection is not None:
        return [_withdrawn(module, plan, objection) for module, plan in plans.items()]
    return [
        FileResult(
            module.path,
            _status(plan.findings, after[module] != module.text),
            plan.findings,
            before=module.text,
            after=after[module],
        )
        for module, plan in plans.items()
    ]


def _objection(plans: Mapping[Module, Plan], after: Mapping[Module, str], settings: Settings) -> str | None:
    """Why the results must not be written, or None."""
    if not any(plan.edits for plan in plans.values()):
        return None
    for module, plan in plans.items():
        found = guard.objection(module.tree, after[module]) if plan.edits else None
        if found is not None:
            return f"{found} in {module.path}"
    again = interpret(Program([Module(module.path, text) for module, text in after.items()]), settings.aliases)
    left = len({wrap.call for wrap in again.wraps})
    said = sum(finding.action in ("refuse", "suppressed") for plan in plans.values() for finding in plan.findings)
    return f"{left - said} use(s) of multi_gpu_model would be left without a word" if left > said else None


def _withdrawn(module: Module, plan: Plan, objection: str) -> FileResult:
    """Nothing is done to a program whose result failed the last check; each use in it is refused."""
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
    kept = tuple(finding for finding in plan.findings if finding.action != "rewrite")
    return FileResult(
        module.path,
        "refused" if findings else _status(kept, False),
        (*findings, *kept),
        before=module.text,
        after=module.text,
    )


def _status(findings: tuple[Finding, ...], changed: bool) -> Status:
    if any(finding.action == "refuse" for finding in findings):
        return "refused"
    return "migrated" if changed else "unchanged"
