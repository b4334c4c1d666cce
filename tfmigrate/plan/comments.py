"""Comments that go with the code that they are about. Every other comment of removed code stays in the file."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from itertools import groupby

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Arguments, Collapse, Edit, Forget, ImportNames, Insert, Remove, Replace, Unwrap
from tfmigrate.plan.strategy.guards import device_of
from tfmigrate.understand import names
from tfmigrate.understand.program import imports_at, imports_of, units_of
from tfmigrate.walk import comments_of, nodes_in, space_round, walk
from tfmigrate.written import nodes_of

_PARALLEL = re.compile(r"\b(?:multi[-_ ]?gpu|parallel)[-_ ]models?\b", re.IGNORECASE)
"""The old function, and what it made."""
_OF_SEVERAL = re.compile(
    rf"{_PARALLEL.pattern}|\b(?:multi(?:ple)?[-_ ])?gpus\b|\bmulti[-_ ]?gpu\b|\bparallel", re.IGNORECASE
)
"""Words of what nothing is left of, above an import or a choice that goes and whose strategy stands elsewhere."""
_OF_DEVICES = re.compile(r"\b(?:cpu|device|template)s?\b", re.IGNORECASE)
"""Words of a claim about the block that kept the template off the GPUs."""
_GOES_ON = re.compile(r"#\W*(?:otherwise|else|this|that|these|it|they|so|thus|hence|therefore)\b", re.IGNORECASE)
"""How a sentence begins that means nothing without the one before."""
_STAYS = re.compile(
    r"#!|#\s*(?:%%|In\[|-\*-|(?:end)?region\b|(?:fmt|yapf|isort|type|tfmigrate|pylint|ruff|flake8|mypy|todo|fixme)\b)"
    r"|.*([-=#*~_])\1\1|.*(?:copyright|licen[cs]e)",
    re.IGNORECASE,
)
"""Banners, licences, and what speaks to a tool or to a colleague: above a statement, it may hold for more than that."""


def comments_that_go(draft: Draft) -> Iterator[Forget]:
    """What the edits so far make meaningless: comments of a removed statement, and claims that are no longer true."""
    if not draft.edits:
        return
    going = _Going(draft)
    obsolete = [comment for unit in draft.module.places for comment in going.at(unit)]
    calls = (edit for edit in draft.edits if isinstance(edit, Arguments))
    obsolete += (comment for edit in calls for comment in going.of_dropped(edit))
    yield from map(Forget, dict.fromkeys(obsolete))


class _Going:
    """Which comments go with the edits of a draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        edits = draft.edits
        self._removed = {edit.node for edit in edits if isinstance(edit, Remove)}
        self._imports = {edit.node for edit in edits if isinstance(edit, ImportNames) and not edit.parts}
        self._unwrapped = {edit.unit for edit in edits if isinstance(edit, Unwrap)}
        self._collapsed = {edit.node for edit in edits if isinstance(edit, Collapse)}
        self._whole = {edit.unit for edit in edits if isinstance(edit, Unwrap) and edit.suite is None}
        self._moved = {unit for edit in edits if isinstance(edit, Insert) for unit in edit.comments_of}
        self._wrapping = {wrap.site.unit for wrap in draft.facts.wraps} - self._moved
        self._reused = {node for edit in edits for node in _put_in(edit)}
        self._renamed = {edit.node for edit in edits if isinstance(edit, Replace) and isinstance(edit.node, cst.Name)}
        below = {edit.before for edit in edits if isinstance(edit, Insert)}
        self._below_lines = {
            node for unit in below if isinstance(unit, cst.SimpleStatementLine) for node in nodes_in(unit, cst.Call)
        }
        """Calls below lines that are written for them: what they were given may be said there."""
        self._written = "\n".join(code for _, code in draft.written())
        self._lines = frozenset(self._written.splitlines())

    def at(self, unit: cst.CSTNode) -> Iterator[cst.Comment]:
        """The comments that go of those above a unit, behind it, and in it where it goes whole."""
        if unit in self._unwrapped and device_of(unit, self._draft.facts) is not None:
            yield from self._of_a_device(unit)
        if unit in self._unwrapped or unit in self._collapsed:
            yield from _speaking_of(_OF_SEVERAL if self._empties(unit) else _PARALLEL, self._above(unit))
        above = self._above(unit)
        if isinstance(unit, cst.SimpleStatementLine):
            gone = (small for small in unit.body if small in self._removed)
            yield from (comment for small in gone for comment in comments_of(small) if _is_code(comment))
            if not self._renamed.isdisjoint(walk(unit)):
                yield from _speaking_of(_PARALLEL, above)
        if unit in self._whole and isinstance(unit, cst.FunctionDef | cst.ClassDef):
            yield from (*above, *_own(unit))
        elif unit in self._moved or unit in self._wrapping or unit in self._whole:
            # Other sentences may be about the strategy, but where the choice that held them goes with the wrap.
            emptied = unit in self._wrapping and self._empties(self._draft.module.places[unit].owner)
            yield from _speaking_of(_OF_SEVERAL if emptied else _PARALLEL, above)
            if unit in self._wrapping and isinstance(unit, cst.SimpleStatementLine) and self._removes(unit):
                yield from (one for one in _own(unit) if not _is_code(one))
        elif self._gone(unit):
            assert isinstance(unit, cst.SimpleStatementLine)
            yield from (comment for comment in _own(unit) if not _is_code(comment))
            if any(small in self._imports for small in unit.body):
                if self._ends_here(unit) and self._imports_wrapper(unit):
                    yield from _speaking_of(_OF_SEVERAL, above)
            else:
                bound = "|".join(map(re.escape, _bound(unit)))
                own = rf"|\b(?:{bound})\b" if bound else ""
                claim = re.compile(f"{_PARALLEL.pattern}{own}", re.IGNORECASE)
                yield from above if self._ends_here(unit) else _speaking_of(claim, above)

    def of_dropped(self, edit: Arguments) -> Iterator[cst.Comment]:
        """The comments behind dropped arguments of a call, on lines that hold nothing else, and above these lines.

        One above may speak of the argument that follows as well, where that has none of its own. All stay where lines
        are written above the call, in which the arguments may be again.
        """
        if edit.call in self._below_lines:
            return
        stay = {argument.source for argument in edit.arguments if argument.source is not None}
        for run in _runs(edit.call.args, stay):
            first, end = edit.call.args.index(run[0]), edit.call.args.index(run[-1]) + 1
            closes = end == len(edit.call.args)
            if closes and edit.arguments and edit.arguments[-1].source is None:
                continue
            around = space_round(edit.call)[first : end + 1]
            begins = isinstance(around[0], cst.ParenthesizedWhitespace)
            breaks = [space for space in around if isinstance(space, cst.ParenthesizedWhitespace)]
            ends = [space.first_line.comment for space in (breaks[1:] if begins or first else breaks)]
            above = [line.comment for space in breaks[:-1] for line in space.empty_lines]
            if closes and breaks and not isinstance(around[-1], cst.ParenthesizedWhitespace):
                above += [line.comment for line in breaks[-1].empty_lines]
            heads_more = not closes and not any(line.comment for space in breaks[-1:] for line in space.empty_lines)
            claims = [one for one in above if one is not None and (not heads_more or _names_one(run, one))]
            yield from (one for one in (*ends, *claims) if one is not None and not _is_code(one))

    def _empties(self, unit: cst.CSTNode | None) -> bool:
        """Whether a choice goes with all that it chose, while its strategy stands elsewhere."""
        return (
            isinstance(unit, cst.If)
            and unit in self._unwrapped
            and unit not in self._moved
            and unit.orelse is None
            and all(
                isinstance(line, cst.SimpleStatementLine) and line not in self._moved and self._removes(line)
                for line in units_of(unit.body)
            )
        )

    def _imports_wrapper(self, unit: cst.SimpleStatementLine) -> bool:
        """Whether a line imports multi_gpu_model, and nothing else."""
        imported = [names.canonical(full) for statement in imports_at(unit) for _, _, full in imports_of(statement)]
        return bool(imported) and set(imported) == {names.MULTI_GPU_MODEL}

    def _of_a_device(self, unit: cst.CSTNode) -> Iterator[cst.Comment]:
        """Claims about where the template is: above the block, behind its first line, and above what it begins with."""
        assert isinstance(unit, cst.With)
        first: cst.CSTNode | None = next(iter(units_of(unit.body)), None)
        behind = unit.body.header if isinstance(unit.body, cst.IndentedBlock) else None
        behind_comments = comments_of(behind) if behind is not None else []
        for comments in (self._above(unit), behind_comments, self._above(first) if first is not None else []):
            yield from _speaking_of(_OF_DEVICES, comments)

    def _gone(self, unit: cst.CSTNode) -> bool:
        """Whether a unit goes, and nothing of what it says is written elsewhere."""
        if unit in self._whole:
            return True
        if not isinstance(unit, cst.SimpleStatementLine) or unit in self._moved or unit in self._wrapping:
            return False
        if not self._removes(unit):
            return False
        if any(self._draft.module.code(small).strip() in self._lines for small in unit.body):
            return False
        return not any(node in self._reused or self._is_written(node) for node in walk(unit))

    def _removes(self, unit: cst.SimpleStatementLine) -> bool:
        return all(small in self._removed or small in self._imports for small in unit.body)

    def _is_written(self, node: cst.CSTNode) -> bool:
        """Whether an edit writes a literal of the removed code: a comment about it is still true there."""
        if not isinstance(node, cst.Float | cst.Integer | cst.SimpleString):
            return False
        return re.search(rf"(?<![\w.]){re.escape(node.value)}(?![\w.])", self._written) is not None

    def _ends_here(self, unit: cst.CSTNode) -> bool:
        """Whether nothing stays of the paragraph from this unit on, so that a comment above it leads nothing."""
        place = self._draft.module.places[unit]
        for following in units_of(place.block)[place.index + 1 :]:
            lines = getattr(following, "leading_lines", ())
            if any(line.comment is None for line in lines):
                return True
            if lines or not self._gone(following):
                return False
        return True

    def _above(self, unit: cst.CSTNode) -> list[cst.Comment]:
        """The comments directly above a unit, without a blank line between, that may speak of it alone."""
        place = self._draft.module.places[unit]
        if place.owner is None and place.index == 0:
            return []  # The head of a file.
        lines: Sequence[cst.EmptyLine] = getattr(unit, "leading_lines", ())
        blank = max((number for number, line in enumerate(lines, 1) if line.comment is None), default=0)
        comments = [line.comment for line in lines[blank:] if line.comment is not None]
        return [] if any(_STAYS.match(comment.value) or _is_code(comment) for comment in comments) else comments


def _names_one(args: Sequence[cst.Arg], comment: cst.Comment) -> bool:
    """Whether a comment has the keyword of one of some arguments in it, maybe in several words."""
    words = "|".join(arg.keyword.value.replace("_", "[ _-]?") for arg in args if arg.keyword is not None)
    return bool(words) and re.search(rf"\b(?:{words})\b", comment.value, re.IGNORECASE) is not None


def _runs(args: Sequence[cst.Arg], stay: Container[cst.Arg]) -> Iterator[list[cst.Arg]]:
    """The arguments that do not stay, those together that follow each other."""
    for stays, run in groupby(args, key=lambda arg: arg in stay):
        if not stays:
            yield list(run)


def _own(unit: cst.CSTNode) -> list[cst.Comment]:
    """The comments in a unit and behind it, without those above."""
    above = {line.comment for line in getattr(unit, "leading_lines", ())}
    return [comment for comment in comments_of(unit) if comment not in above]


def _sentences(comments: Sequence[cst.Comment]) -> list[list[cst.Comment]]:
    """The lines of a comment, a new sentence at a time."""
    sentences: list[list[cst.Comment]] = []
    for comment in comments:
        if sentences and not sentences[-1][-1].value.rstrip().endswith((".", "!", "?")):
            sentences[-1].append(comment)
        else:
            sentences.append([comment])
    return sentences


def _speaking_of(pattern: re.Pattern[str], comments: Sequence[cst.Comment]) -> Iterator[cst.Comment]:
    """The sentences that name something, and those that go on from one."""
    said = False
    for sentence in _sentences(comments):
        said = any(pattern.search(comment.value) for comment in sentence) or (
            said and _GOES_ON.match(sentence[0].value) is not None
        )
        if said:
            yield from sentence


def _is_code(comment: cst.Comment) -> bool:
    """Whether a comment is code that somebody has switched off."""
    try:
        (statement,) = ast.parse(comment.value.lstrip("#").strip().rstrip(",")).body
    except (SyntaxError, ValueError):
        return False
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None  # `note: this` is prose.
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call)


def _bound(unit: cst.SimpleStatementLine) -> Iterator[str]:
    """The names that a line binds; a short one may be a word of any sentence."""
    for small in unit.body:
        for target in small.targets if isinstance(small, cst.Assign) else ():
            if isinstance(target.target, cst.Name) and "_" in target.target.value:
                yield target.target.value


def _put_in(edit: Edit) -> Iterator[cst.CSTNode]:
    """The nodes of the program that an edit puts in another place."""
    parts: list[cst.BaseExpression] = []
    if isinstance(edit, Replace):
        parts.extend(edit.parts)
    elif isinstance(edit, Arguments):
        for argument in edit.arguments:
            parts.extend(nodes_of(argument.code))
            if not isinstance(argument.value, str):
                parts.append(argument.value)
    for part in parts:
        yield from walk(part)
