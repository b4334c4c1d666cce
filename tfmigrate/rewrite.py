"""understand -> plan -> edit -> guard, for sources in memory. Touches no disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate import guard, limits, rules
from tfmigrate.edit.apply import apply, said_once
from tfmigrate.edit.width import fitted
from tfmigrate.files.source import explain_syntax_error
from tfmigrate.numbering import SCRIPT, Numbering
from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Plan
from tfmigrate.plan.planner.program import plan_program
from tfmigrate.plan.selection import Selection
from tfmigrate.quiet import reading_code
from tfmigrate.result import FileResult, Finding, Status
from tfmigrate.settings import Settings
from tfmigrate.understand.indentation import aligned, is_python_2, shift, spaced
from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.names import MULTI_GPU_MODEL
from tfmigrate.understand.program import Program
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.suppressions import read_suppressions


@dataclass(frozen=True)
class Source:
    """One file of a program: its decoded text, with its own newlines, and the settings that hold for it."""

    path: str
    text: str
    settings: Settings
    numbering: Numbering = SCRIPT


def migrate_program(sources: Sequence[Source]) -> tuple[FileResult, ...]:
    """The outcome for each source, in the same order; all are one program, with one plan.

    `applied` is False throughout. Where the result of one file fails the last check, every file of the program stays as
    it is.
    """
    with reading_code():
        read = [_parsed(source) for source in sources]
        done = _migrated({m: s for m, s in zip(read, sources, strict=True) if isinstance(m, Module)})
    return tuple(done[module] if isinstance(module, Module) else module for module in read)


def migrate_sources(sources: Mapping[str, str], settings: Settings) -> tuple[FileResult, ...]:
    """As migrate_program, for path -> text under one and the same settings."""
    return migrate_program([Source(path, text, settings) for path, text in sources.items()])


def _parsed(source: Source) -> Module | FileResult:
    text = source.text
    try:
        try:
            module = _read(source, text)
        except (cst.ParserSyntaxError, TabError):
            without_tabs = spaced(text)
            if without_tabs is None:
                raise
            return _read(source, without_tabs)
        one_way = aligned(text, module.printed) if isinstance(module, Module) and "\t" in text else None
        return module if one_way is None else _read(source, one_way)
    except cst.ParserSyntaxError as error:
        line, reason = error.raw_line, error.message
    except (SyntaxError, ValueError) as error:
        line, reason = getattr(error, "lineno", None) or 1, str(getattr(error, "msg", error))
    message = explain_syntax_error(text, line, reason, source.numbering)
    return FileResult(source.path, "error", error=message, before=text, after=text)


def _read(source: Source, text: str) -> Module | FileResult:
    """The module of this text, or why it is not read. Raises what Python's parser or LibCST raises."""
    problem = limits.too_large(text, source.settings.largest_file) or limits.too_deep(text, source.numbering)
    if problem is not None:
        return FileResult(source.path, "error", error=problem, before=text, after=text)
    guard.compiles(text)
    return Module(source.path, text, source.numbering)


def _migrated(read: Mapping[Module, Source]) -> dict[Module, FileResult]:
    if not read:
        return {}
    settings = {module: source.settings for module, source in read.items()}
    facts = interpret(Program(list(read)), _aliases(settings))
    plans = _without_unsafe(_planned(facts, settings), facts, settings)
    after = {module: _edited(module, plan) for module, plan in plans.items()}
    objection = _objection(plans, after, settings)
    if objection is not None:
        done = {module: _withdrawn(module, plan, objection) for module, plan in plans.items()}
    else:
        done = {
            module: FileResult(
                module.path,
                _status(plan.findings, after[module] != module.text),
                plan.findings,
                before=module.text,
                after=after[module],
            )
            for module, plan in plans.items()
        }
    return {module: _in_file(result, read[module].text) for module, result in done.items()}


def _planned(facts: ProgramFacts, settings: Mapping[Module, Settings]) -> dict[Module, Plan]:
    drafts = {
        module: Draft(facts.modules[module], Scopes(module), Selection(own, read_suppressions(module.text)))
        for module, own in settings.items()
    }
    return plan_program(facts, drafts, rules.all_rules())


def _without_unsafe(
    plans: dict[Module, Plan], facts: ProgramFacts, settings: Mapping[Module, Settings]
) -> dict[Module, Plan]:
    """The plans without the rewrites of unsafe rules that nobody asked for; each of them stays as a warning.

    The program is planned again without those rules, because what another rule does may depend on them.
    """
    unasked = {module: rules.unsafe_codes() for module, own in settings.items() if not own.unsafe_fixes}
    if not any(
        finding.action == "rewrite" and finding.code in unsafe
        for module, unsafe in unasked.items()
        for finding in plans[module].findings
    ):
        return plans
    safe = _planned(facts, {m: replace(own, ignore=(*own.ignore, *unasked.get(m, ()))) for m, own in settings.items()})
    return {
        module: replace(plan, findings=_with_withheld(plan.findings, plans[module].findings, unasked.get(module, ())))
        for module, plan in safe.items()
    }


def _with_withheld(
    safe: Iterable[Finding], all_of_them: Collection[Finding], unsafe: Collection[str]
) -> tuple[Finding, ...]:
    """The findings of a plan without unsafe rules, and what those rules have to say."""
    used = {finding for finding in safe if finding.code == codes.UNUSED_SUPPRESSION}.difference(all_of_them)
    withheld = (
        replace(finding, action="warn", unsafe=True) if finding.action == "rewrite" else finding
        for finding in all_of_them
        if finding.code in unsafe
    )
    return tuple(sorted({*safe, *withheld} - used))


def _edited(module: Module, plan: Plan) -> str:
    if not plan.edits:
        return module.text  # LibCST may not give back all of it as it was.
    code = apply(module.tree, plan.edits).code
    return fitted(module.text, code) + module.tail if code else ""


def _in_file(result: FileResult, text: str) -> FileResult:
    """A result for a program whose indentation was read as spaces, as that of the file."""
    if result.before == text:
        return result
    findings = tuple(
        replace(finding, column=max(1, finding.column - shift(text, result.before, finding.line)))
        for finding in result.findings
    )
    unread = is_python_2(text)
    if not result.changed and not (unread and result.status == "unchanged"):
        return replace(result, findings=findings, before=text, after=text)
    lines = enumerate(zip(text.split("\n"), result.before.split("\n"), strict=True), 1)
    line, new = next((number, new) for number, (old, new) in lines if old != new)
    message = "tabs and spaces are mixed in the indentation of this file: each tab becomes spaces"
    if "\t" in new[: -len(new.lstrip())]:
        message = "lines of one block are indented differently: each gets the indentation of the first"
    if unread:
        message = (
            "Python 3 rejects this mix of tabs and spaces in the indentation: written with spaces, as Python 2 read it"
        )
    mixed = Finding(line, 1, codes.MIXED_INDENTATION, message, "rewrite")
    return replace(result, status="migrated", findings=tuple(sorted((*findings, mixed))), before=text)


def _aliases(settings: Mapping[Module, Settings]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(alias for own in settings.values() for alias in own.aliases))


def _objection(
    plans: Mapping[Module, Plan], after: Mapping[Module, str], settings: Mapping[Module, Settings]
) -> str | None:
    """Why the results must not be written, or None."""
    if not any(plan.edits for plan in plans.values()):
        return None
    return (
        _damaged(plans, after)
        or _changed_in_silence(plans, after)
        or _torn(after)
        or _left_in_silence(plans, after, settings)
    )


def _damaged(plans: Mapping[Module, Plan], after: Mapping[Module, str]) -> str | None:
    """The first file that would not parse, or would lose more than its plan says."""
    for module, plan in plans.items():
        going = (*plan.forgotten, *said_once(plan.edits))
        damage = guard.objection(module.text, module.printed, after[module], going) if plan.edits else None
        if damage is not None:
            return f"{damage} in {module.path}"
    return None


def _changed_in_silence(plans: Mapping[Module, Plan], after: Mapping[Module, str]) -> str | None:
    """The first file that would change and has no finding for it."""
    changed = [module.path for module in plans if after[module] != module.text]
    silent = guard.unexplained(changed, {module.path: plan.findings for module, plan in plans.items()})
    return f"{silent} would change and no finding says why" if silent is not None else None


def _torn(after: Mapping[Module, str]) -> str | None:
    """A name that one file would take from another one in vain."""
    if len(after) == 1:
        return None
    before = {module.path: module.text for module in after}
    return guard.torn(before, {module.path: text for module, text in after.items()})


def _left_in_silence(
    plans: Mapping[Module, Plan], after: Mapping[Module, str], settings: Mapping[Module, Settings]
) -> str | None:
    """How many uses would be left that nothing is said of, if any."""
    aliases = _aliases(settings)
    wanted = frozenset(name.rsplit(".", 1)[-1] for name in (MULTI_GPU_MODEL, *aliases))
    if not any(guard.mentions(text, wanted) for text in after.values()):
        return None
    again = interpret(Program([Module(module.path, text) for module, text in after.items()]), aliases)
    asked = {module.path for module, own in settings.items() if own.wants(codes.MULTI_GPU_MODEL)}
    left = len({wrap.call for wrap in again.wraps if wrap.site.frame.module.path in asked})
    reported = sum(finding.action in ("refuse", "suppressed") for plan in plans.values() for finding in plan.findings)
    return f"{left - reported} use(s) of multi_gpu_model would be left without a finding" if left > reported else None


def _withdrawn(module: Module, plan: Plan, objection: str) -> FileResult:
    """Nothing is done to a program whose result failed the last check; each use in it is refused.

    In a module without a use, that is reported for the first thing that would have changed.
    """
    rewrites = [finding for finding in plan.findings if finding.action == "rewrite"]
    uses = [finding for finding in plan.findings if finding.code == codes.MULTI_GPU_MODEL] or rewrites[:1]
    findings = tuple(
        replace(
            finding,
            code=codes.NOT_FOLLOWED,
            message=f"left as it is, because {objection}; please report this file",
            action="refuse",
        )
        for finding in uses
    )
    reports = tuple(finding for finding in plan.findings if finding.action != "rewrite")
    return FileResult(
        module.path,
        "refused" if findings else _status(reports, False),
        (*findings, *reports),
        before=module.text,
        after=module.text,
    )


def _status(findings: tuple[Finding, ...], changed: bool) -> Status:
    if any(finding.action == "refuse" for finding in findings):
        return "refused"
    return "migrated" if changed else "unchanged"
