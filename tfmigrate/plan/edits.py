"""What to do, as data. An edit names the node it concerns; `tfmigrate.edit` carries it out and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

import libcst as cst

from tfmigrate.result import Finding
from tfmigrate.written import Code, Written, nodes_of, text_of

_Node = TypeVar("_Node", bound=cst.CSTNode)
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Scope:
    """Put `with context:` round neighbouring units of one block."""

    units: tuple[cst.CSTNode, ...]
    context: str | Written


class Rank(IntEnum):
    """Which lines stand above which where several are inserted before one unit; those of one rank as planned."""

    WORKERS = 1
    """What several machines need before TensorFlow is imported."""
    DEVICES = 2
    """The choice of devices, because listing them starts them."""
    IMPORT = 3
    RULE = 4
    """What a rule of keras/, data/ or names/ brings: settings of devices, functions, in the order of their codes."""
    LOSS = 5
    """Functions round losses and metrics, below those that make layers and data."""
    PIPELINE = 6
    LINE = 7


@dataclass(frozen=True)
class Insert:
    """New lines before a unit, under the comments above `comments_of`: units that vanish, or the unit itself."""

    before: cst.CSTNode
    code: str | Code
    comments_of: tuple[cst.CSTNode, ...] = ()
    scoped: bool = False
    """Whether the lines stand in the scope that the unit stands in, and not before it."""
    rank: Rank = Rank.LINE

    @property
    def text(self) -> str:
        """The code without the nodes of the program in it."""
        return text_of(self.code)


@dataclass(frozen=True)
class Remove:
    """Take out a small statement, a line or suite left empty with it; or one name of an import, or a decorator."""

    node: cst.BaseSmallStatement | cst.ImportAlias | cst.Decorator


@dataclass(frozen=True)
class Unwrap:
    """Put the units of `suite` in the place of the compound statement `unit`; None: take the unit out whole."""

    unit: cst.CSTNode
    suite: cst.BaseSuite | None


@dataclass(frozen=True)
class Branch:
    """Turn a compound statement into `if test: body else: orelse`."""

    unit: cst.CSTNode
    test: Code
    body: cst.BaseSuite
    orelse: cst.BaseSuite | None


@dataclass(frozen=True)
class Replace:
    """Put `code` in the place of an expression, which may be a part of the code itself."""

    node: cst.BaseExpression
    code: str | Code

    @property
    def parts(self) -> tuple[cst.BaseExpression, ...]:
        """The nodes of the program in the code."""
        return nodes_of(self.code)

    @property
    def text(self) -> str:
        """The code without those nodes."""
        return text_of(self.code)


@dataclass(frozen=True)
class Append:
    """Give a list that is written out one more element, laid out as the others are."""

    node: cst.List
    code: Code


@dataclass(frozen=True)
class Shorten:
    """Leave an element out of a dict that is written out, and its line where it has one of its own."""

    node: cst.Dict
    element: cst.DictElement


@dataclass(frozen=True)
class Remark:
    """Say in a short comment why a statement says what it says: behind it, or above where that has no room."""

    node: cst.BaseExpression
    """An expression in the statement."""
    comment: str


@dataclass(frozen=True)
class Forget:
    """Let a comment go with the code that it is about. No other comment is ever lost, but for one that both arms of a
    choice say where they become one."""

    node: cst.Comment


@dataclass(frozen=True)
class Collapse:
    """Put one arm of `if test: ... else: ...`, or of its expression, in the place of the whole where both come out the
    same."""

    node: cst.If | cst.IfExp
    later: bool = False
    """Whether the test may come later: what both arms begin with stands before it then."""
    whole: bool = False
    """Whether arms that are the same in part alone stay as they are."""


@dataclass(frozen=True)
class Argument:
    """A call's argument as it shall be: an (edited) node of the old call, or new text."""

    value: cst.BaseExpression | str
    keyword: str | None = None
    source: cst.Arg | None = None
    """The old argument whose commas and line breaks are kept."""
    code: Code = ()
    """What is written where that is more than the value; parts of it may be other arguments, and the old value, which
    stands for the new one."""

    @property
    def text(self) -> str:
        """What is written without the nodes of the program in it."""
        return text_of((self.value, *self.code))


@dataclass(frozen=True)
class Arguments:
    """Give a call these arguments, and the method another name where `method` is given, or another `function`."""

    call: cst.Call
    arguments: tuple[Argument, ...]
    method: str | None = None
    function: str | None = None


@dataclass(frozen=True)
class Signature:
    """Leave a function only these of its parameters, and give it others, whose default is None."""

    function: cst.FunctionDef
    kept: tuple[str, ...]
    added: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImportPart:
    """`from module import names`, or with an empty module `import names`; a name is the old alias node, or new text."""

    module: str
    names: tuple[cst.ImportAlias | str, ...]


@dataclass(frozen=True)
class ImportNames:
    """Change an import statement into these; none: it goes."""

    node: cst.Import | cst.ImportFrom
    parts: tuple[ImportPart, ...] = ()


@dataclass(frozen=True)
class Move:
    """Let units go down to just before another one of their block, their comments with them."""

    units: tuple[cst.CSTNode, ...]
    before: cst.CSTNode

    def applied(self, block: Sequence[_Node]) -> list[_Node]:
        """The units of a block in their new order."""
        if self.before not in block:
            return list(block)
        staying = [unit for unit in block if unit not in self.units]
        place = staying.index(self.before)  # type: ignore[arg-type]
        return [*staying[:place], *(unit for unit in block if unit in self.units), *staying[place:]]


Edit = (
    Scope
    | Insert
    | Move
    | Remove
    | Unwrap
    | Branch
    | Replace
    | Append
    | Shorten
    | Remark
    | Forget
    | Collapse
    | Arguments
    | Signature
    | ImportNames
)


def of_kind(edits: Iterable[Edit], kind: type[_Kind]) -> list[_Kind]:
    return [edit for edit in edits if isinstance(edit, kind)]


def place_of(edit: Edit) -> cst.CSTNode:
    """The node that an edit is about, to say where a file changes."""
    if isinstance(edit, Scope | Move):
        return edit.units[0]
    if isinstance(edit, Insert):
        return edit.before
    if isinstance(edit, Unwrap | Branch):
        return edit.unit
    if isinstance(edit, Arguments):
        return edit.call
    return edit.function if isinstance(edit, Signature) else edit.node


def codes_of(edit: Edit) -> Iterator[str | Code]:
    """The pieces of code that an edit writes."""
    if isinstance(edit, Scope):
        yield edit.context if isinstance(edit.context, str) else edit.context.code
    if isinstance(edit, Insert | Replace | Append):
        yield edit.code
    elif isinstance(edit, Branch):
        yield edit.test
    elif isinstance(edit, Arguments):
        yield from ((argument.value, *argument.code) for argument in edit.arguments)


def carried(edits: Iterable[Edit]) -> Iterator[cst.BaseExpression]:
    """The nodes of the program that stand in what edits write."""
    return (node for edit in edits for code in codes_of(edit) for node in nodes_of(code))


@dataclass(frozen=True)
class Plan:
    """All edits of one module, and what is reported about it."""

    edits: tuple[Edit, ...] = ()
    findings: tuple[Finding, ...] = field(default=())

    @property
    def forgotten(self) -> tuple[str, ...]:
        """The text of every comment that goes."""
        return tuple(edit.node.value for edit in self.edits if isinstance(edit, Forget))
