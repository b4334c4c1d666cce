"""Carries a plan out: one LibCST transformer that looks up each node's edit and applies it.

Whatever disappears leaves its comments behind, which move to the next statement of the block; but for those that an
edit lets go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import libcst as cst

from tfmigrate.brackets import filled
from tfmigrate.edit.align import dedented, equals_kept, realigned, realigned_head
from tfmigrate.edit.arguments import in_column, narrowed_signature, spaced
from tfmigrate.edit.arms import Arms, begin_and_end_alike, read_alike, with_comments_of
from tfmigrate.edit.blocks import Block, BlockInTheMaking, empty
from tfmigrate.edit.by_node import EditsByNode
from tfmigrate.edit.compose import Edited, composed, composed_lines
from tfmigrate.edit.elements import longer, shorter
from tfmigrate.edit.imports import divided
from tfmigrate.edit.lines import Pieces, blank_above, comment_lines, keep_comments, led
from tfmigrate.edit.reach import reached
from tfmigrate.plan.edits import (
    Argument,
    Arguments,
    Branch,
    Collapse,
    Edit,
    Insert,
    Replace,
    Scope,
    Unwrap,
    place_of,
)
from tfmigrate.walk import comments_of, said_twice, walk
from tfmigrate.written import Changed, Code, nodes_of

_WIDTH = 90
"""A line with a comment behind it, without its indentation, is not made longer than this."""


def apply(tree: cst.Module, edits: Sequence[Edit]) -> cst.Module:
    """The tree with all edits carried out; the tree itself where there are none."""
    return tree.visit(_Editor(tree, EditsByNode(edits))) if edits else tree


def said_once(edits: Sequence[Edit]) -> list[str]:
    """The comments that may be missing after the edits, because what both arms of a choice say is said once."""
    choices = {place_of(edit) for edit in edits if isinstance(edit, Unwrap | Branch | Collapse)}
    return [text for choice in choices for text in said_twice(choice).elements()]


class _Editor(cst.CSTTransformer):
    def __init__(
        self,
        tree: cst.Module,
        edits: EditsByNode,
        root: cst.CSTNode | None = None,
        holes: Mapping[cst.BaseExpression, cst.BaseExpression] = MappingProxyType({}),
    ) -> None:
        """`root`: what is edited, if not the whole tree; `holes`: replacements for some of its parts."""
        super().__init__()
        self.edits = edits
        self._tree = tree
        self._given = holes
        self._config = tree.config_for_parsing
        self._touched = reached(root or tree, edits.concerned | holes.keys())
        self._new_parts: dict[cst.CSTNode | Changed, cst.CSTNode] = {}
        self.pieces: dict[cst.CSTNode, Pieces] = {}
        self._suites: dict[cst.CSTNode, tuple[Pieces, list[cst.EmptyLine]]] = {}
        self._lines: dict[Insert, Pieces] = {}

    # libcst's own dispatch goes by class; edits go by node, so both hooks are overridden.
    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self._touched

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        result = self._leave(original_node, updated_node)
        if original_node in self.edits.parts:
            self._new_parts[original_node] = result
        return result

    def _leave(self, original: cst.CSTNode, updated: cst.CSTNode) -> cst.CSTNode:
        if original in self._given:
            return self._given[original]  # type: ignore[index]
        if original not in self._touched:
            if isinstance(original, cst.BaseStatement):
                self.pieces[original] = [original]
            return original
        if isinstance(original, cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite):
            return self._leave_block(original, updated)
        if isinstance(original, cst.SimpleStatementLine):
            self.pieces[original] = self._remarked(original, self._line(original, updated))  # type: ignore[arg-type]
        elif isinstance(original, cst.BaseCompoundStatement):
            if isinstance(original, cst.FunctionDef) and not self.edits.removed.isdisjoint(original.decorators):
                updated = self._undecorated(original, updated)  # type: ignore[arg-type]
            updated = realigned_head(original, updated, self._tree)
            self.pieces[original] = self._remarked_head(original, self._compound(original, updated))
        if original in self.edits.calls:
            updated = self._arguments(self.edits.calls[original], updated)  # type: ignore[arg-type]
        if (
            original in self.edits.collapsing
            and isinstance(updated, cst.IfExp)
            and read_alike(updated.body, updated.orelse, self._tree)
        ):
            arm, brackets = updated.body, {"lpar": updated.lpar, "rpar": updated.rpar}
            return arm if arm.lpar or not updated.lpar else arm.with_changes(**brackets)
        if original in self.edits.appended:
            code = self.edits.appended[original]
            updated = longer(updated, composed(code, self._parts_in(code), self._config))  # type: ignore[arg-type]
        if original in self.edits.shortened:
            gone = self.edits.shortened[original]
            updated = shorter(original, updated, gone, self.edits.forgotten)  # type: ignore[arg-type]
        if original in self.edits.replaced:
            updated = self._expression(self.edits.replaced[original], updated)
        return updated

    # ---- expressions ----

    def _expression(self, layers: Sequence[Replace], updated: cst.CSTNode) -> cst.CSTNode:
        for edit in layers:
            self._new_parts[edit.node] = updated  # which the code may hold; what it becomes is set when it is left
            updated = composed(edit.code, self._parts_in(edit.code), self._config)
        return updated

    def _parts_in(self, code: str | Code) -> Edited:
        """What the nodes in a piece of code have become; those that stand further down are edited now."""
        for part in nodes_of(code):
            if part not in self._new_parts:
                self._new_parts[part] = part.visit(self) if part in self._touched else self._apart(part)  # type: ignore[assignment]
        for piece in code if not isinstance(code, str) else ():
            if isinstance(piece, Changed):
                self._new_parts[piece] = self._apart(piece)
        return self._new_parts

    def _apart(self, part: cst.BaseExpression | Changed) -> cst.BaseExpression:
        """An expression once edited, with others in the place of some of its parts, which stay what they are here."""
        node, parts = (part.node, part.parts) if isinstance(part, Changed) else (part, ())

        def fill(holes: Mapping[cst.BaseExpression, cst.BaseExpression]) -> cst.BaseExpression:
            edited = node.visit(_Editor(self._tree, self.edits, root=node, holes=holes))
            assert isinstance(edited, cst.BaseExpression)
            return edited

        return filled(fill, {old: composed(new.code, self._parts_in(new.code), self._config) for old, new in parts})

    def _arguments(self, edit: Arguments, updated: cst.Call) -> cst.Call:
        changed = updated
        if edit.method is not None and isinstance(updated.func, cst.Attribute):
            changed = changed.with_changes(
                func=updated.func.with_changes(attr=updated.func.attr.with_changes(value=edit.method))
            )
        if edit.function is not None:
            changed = changed.with_changes(func=cst.parse_expression(edit.function, self._config))
        separator = next(
            (arg.comma for arg in edit.call.args[:-1] if isinstance(arg.comma, cst.Comma)),
            cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")),
        )
        last_comma = edit.call.args[-1].comma if edit.call.args else cst.MaybeSentinel.DEFAULT
        last_space = edit.call.args[-1].whitespace_after_arg if edit.call.args else cst.SimpleWhitespace("")
        args = [self._argument(argument, separator) for argument in edit.arguments]
        for position, argument in enumerate(edit.arguments):
            if edit.call.args and argument.source is edit.call.args[-1]:
                args[position] = args[position].with_changes(comma=separator)  # Its own comma ended the list.
        if args:
            args[-1] = args[-1].with_changes(comma=last_comma, whitespace_after_arg=self._without_moved(last_space))
        return spaced(changed.with_changes(args=args), edit, self.edits.forgotten)

    def _without_moved(self, space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
        """Space behind an argument, without a comment that goes, or that is written elsewhere."""
        if not isinstance(space, cst.ParenthesizedWhitespace) or space.first_line.comment not in self.edits.forgotten:
            return space
        return space.with_changes(first_line=cst.TrailingWhitespace())

    def _argument(self, argument: Argument, separator: cst.Comma) -> cst.Arg:
        value = argument.value
        node = composed(value if isinstance(value, str) else (value,), self._new_parts, self._config)
        if argument.code:
            edited = dict(self._parts_in(argument.code))
            if argument.source is not None:
                edited[argument.source.value] = node
            node = composed(argument.code, edited, self._config)
        keyword = cst.Name(argument.keyword) if argument.keyword is not None else None
        no_space = cst.SimpleWhitespace("")
        equal = cst.AssignEqual(no_space, no_space) if keyword is not None else cst.MaybeSentinel.DEFAULT
        if argument.source is None:
            return cst.Arg(node, keyword, equal, comma=separator)
        source = argument.source
        if source.keyword is not None and keyword is not None:
            equal = in_column(source, keyword.value)
        comma = source.comma if isinstance(source.comma, cst.Comma) else separator
        return cst.Arg(node, keyword, equal, comma=comma, star=source.star)

    # ---- statements ----

    def _undecorated(self, original: cst.FunctionDef, updated: cst.FunctionDef) -> cst.FunctionDef:
        """Without the decorators that go; comments at them stay, above what follows."""
        decorators: list[cst.Decorator] = []
        comments: list[cst.EmptyLine] = []
        for old, new in zip(original.decorators, updated.decorators, strict=True):
            if old in self.edits.removed:
                comments += [line for line in new.leading_lines if line.comment is not None]
                if (comment := new.trailing_whitespace.comment) is not None:
                    comments.append(cst.EmptyLine(comment=comment))
            else:
                decorators.append(new.with_changes(leading_lines=[*comments, *new.leading_lines]))
                comments = []
        below = [*comments, *updated.lines_after_decorators]
        return updated.with_changes(decorators=decorators, lines_after_decorators=below)

    def _line(self, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine) -> Pieces:
        body: list[cst.BaseSmallStatement] = []
        for old, new in zip(original.body, updated.body, strict=True):
            if old in self.edits.removed:
                continue
            if old in self.edits.imports:
                body.extend(divided(self.edits.imports[old], new, self._config))
            else:
                body.append(equals_kept(old, new, self._tree))
        if not body:
            return []
        if len(original.body) == 1 and len(body) > 1:
            lines = [cst.SimpleStatementLine([small]) for small in body]
            lines[0] = lines[0].with_changes(leading_lines=updated.leading_lines)
            lines[-1] = lines[-1].with_changes(trailing_whitespace=updated.trailing_whitespace)
            return keep_comments(self._comments_in(original), list(lines))
        if len(body) != len(original.body):
            body[-1] = body[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        line = updated.with_changes(body=body)
        if original.body[0].deep_equals(body[0]) and len(original.body) == len(body) == 1:
            return [line]
        inserted = self.edits.inserts.get(original, ())
        carried = [self._parts_in(edit.code)[node] for edit in inserted for node in nodes_of(edit.code)]
        return keep_comments(self._comments_in(original), [realigned(original, line, self._tree)], carried)

    def _remarked_head(self, original: cst.BaseCompoundStatement, pieces: Pieces) -> Pieces:
        """A function with the comments that are made on the defaults of its parameters."""
        if not isinstance(original, cst.FunctionDef) or len(pieces) != 1:
            return pieces
        said = (self.edits.remarks[node] for node in walk(original.params) if node in self.edits.remarks)
        lines = [cst.EmptyLine(comment=cst.Comment(f"# {text}")) for text in dict.fromkeys(said)]
        (function,) = pieces
        if not lines or not isinstance(function, cst.FunctionDef):
            return pieces
        if function.decorators:
            return [function.with_changes(lines_after_decorators=[*function.lines_after_decorators, *lines])]
        return [led(function, [*function.leading_lines, *lines])]

    def _remarked(self, original: cst.SimpleStatementLine, pieces: Pieces) -> Pieces:
        """A line with the comments that are made on what stands in it."""
        remarks = dict.fromkeys(self.edits.remarks[node] for node in walk(original) if node in self.edits.remarks)
        if not remarks or len(pieces) != 1:
            return pieces
        (line,) = pieces
        assert isinstance(line, cst.SimpleStatementLine)
        text = f"# {'; '.join(remarks)}"
        code = self._tree.code_for_node(line.with_changes(leading_lines=[])).strip()
        if line.trailing_whitespace.comment is None and "\n" not in code and len(code) + len(text) < _WIDTH:
            space, comment = cst.SimpleWhitespace("  "), cst.Comment(text)
            end = line.trailing_whitespace.with_changes(whitespace=space, comment=comment)
            return [line.with_changes(trailing_whitespace=end)]
        return [led(line, [*line.leading_lines, cst.EmptyLine(comment=cst.Comment(text))])]

    def _compound(self, original: cst.BaseCompoundStatement, updated: cst.CSTNode) -> Pieces:
        edit = self.edits.compounds.get(original)
        if original in self.edits.collapsing and isinstance(original, cst.If) and isinstance(updated, cst.If):
            if isinstance(updated.orelse, cst.Else) and read_alike(updated.body, updated.orelse.body, self._tree):
                edit = Unwrap(original, original.body)
            elif isinstance(updated.orelse, cst.Else) and not self.edits.collapsing[original].whole:
                pieces: Pieces = [updated]
                if self.edits.collapsing[original].later:
                    pieces = self._arms(original).first_taken_out(updated, updated.orelse)
                return self._arms(original).last_taken_out(pieces)
        if isinstance(original, cst.FunctionDef) and original in self.edits.signatures:
            updated = narrowed_signature(updated, self.edits.signatures[original])
        if edit is None:
            return [] if self._tries_nothing(original) else [updated]  # type: ignore[list-item]
        leading = self.leading(original)
        if isinstance(edit, Branch):
            branch = self._branch(edit, leading)
            pieces = [branch]
            if isinstance(original, cst.Try) and isinstance(branch.orelse, cst.Else):
                arms = self._arms(original)
                pieces = arms.last_taken_out(arms.first_taken_out(branch, branch.orelse))
            return keep_comments(self._comments_of_choice(original), pieces)
        if edit.suite is None:
            return []
        pieces, _ = self._suites[edit.suite]
        if not pieces:
            return []
        if isinstance(original, cst.If):
            pieces = with_comments_of(pieces, self._other_arm(original, edit.suite), self._tree)
        pieces = [dedented(piece, self.indent(edit.suite)) for piece in pieces]
        first = led(pieces[0], [*leading, *comment_lines(getattr(pieces[0], "leading_lines", ()))])
        return keep_comments(self._comments_of_choice(original, edit.suite), [first, *pieces[1:]])

    def _other_arm(self, choice: cst.If, kept: cst.BaseSuite) -> Pieces:
        """What has become of the arm of an `if` and `else` that goes; nothing where there are other arms."""
        if not isinstance(choice.orelse, cst.Else):
            return []
        pieces, _ = self._suites.get(choice.orelse.body if kept is choice.body else choice.body, ([], []))
        return pieces

    def _tries_nothing(self, original: cst.BaseCompoundStatement) -> bool:
        """Whether all that a `try` tried is gone, so that its handlers have nothing to handle."""
        if not isinstance(original, cst.Try | cst.TryStar) or original.orelse or original.finalbody:
            return False
        if original.body not in self._touched:
            return False
        pieces, footer = self._suites[original.body]
        return not pieces and not footer

    def _arms(self, choice: cst.If | cst.Try) -> Arms:
        comments = self._comments_of_choice(choice)
        alike = begin_and_end_alike(choice, self._tree)
        return Arms(self._tree, self.indent(choice.body), self.leading(choice), comments, alike)

    def _branch(self, edit: Branch, leading: Sequence[cst.EmptyLine]) -> cst.If:
        body = self._block_of(edit.body)
        orelse = cst.Else(self._block_of(edit.orelse)) if edit.orelse is not None else None
        test = composed(edit.test, self._parts_in(edit.test), self._config)
        return cst.If(test, body, orelse, leading_lines=leading)

    def _block_of(self, suite: cst.BaseSuite) -> cst.IndentedBlock:
        pieces, footer = self._suites[suite]
        return cst.IndentedBlock(pieces or [empty()], footer=footer)

    # ---- blocks ----

    def _leave_block(self, original: Block, updated: cst.CSTNode) -> cst.CSTNode:
        if isinstance(original, cst.SimpleStatementSuite):
            return self._leave_suite(original, updated)  # type: ignore[arg-type]
        pieces, footer = self._rebuilt(original)
        tail = list(updated.footer)  # type: ignore[attr-defined]
        if isinstance(original, cst.IndentedBlock):
            self._suites[original] = (pieces, [*footer, *tail])
            pieces = pieces or [empty()]
        elif not pieces and not any(line.comment for line in (*original.header, *footer, *tail)):
            return updated.with_changes(header=[], body=[], footer=[], has_trailing_newline=False)
        return updated.with_changes(body=pieces, footer=[*footer, *tail])

    def _leave_suite(self, original: cst.SimpleStatementSuite, updated: cst.SimpleStatementSuite) -> cst.CSTNode:
        body = [new for old, new in zip(original.body, updated.body, strict=True) if old not in self.edits.removed]
        if len(body) == len(original.body) and original not in self.edits.scopes and original not in self.edits.inserts:
            line = cst.SimpleStatementLine(body, trailing_whitespace=updated.trailing_whitespace)
            self._suites[original] = ([line], [])
            return updated
        if body:
            body[-1] = body[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        self.pieces[original] = [cst.SimpleStatementLine(body)] if body else []
        pieces, footer = self._rebuilt(original)
        self._suites[original] = (pieces, footer)
        return cst.IndentedBlock(pieces or [empty()], header=updated.trailing_whitespace, footer=footer)

    def _rebuilt(self, block: Block) -> tuple[Pieces, list[cst.EmptyLine]]:
        """The block's new statements, and comment lines left over at its end."""
        units: Sequence[cst.CSTNode] = (block,) if isinstance(block, cst.SimpleStatementSuite) else block.body
        rebuilding = BlockInTheMaking(self, block, blank_above(units, self.edits.moves))
        for move in self.edits.moves:
            units = move.applied(units)
        for unit in units:
            rebuilding.take(unit)
        return rebuilding.out, rebuilding.left_over

    def orphaned(self, unit: cst.CSTNode) -> list[cst.EmptyLine]:
        return [cst.EmptyLine(comment=cst.Comment(text)) for text in self._comments_in(unit)]

    def _comments_of_choice(self, choice: cst.CSTNode, kept: cst.BaseSuite | None = None) -> list[str]:
        """The comments of a compound statement that stay, each once where two arms that may become one say it.

        `kept`: the one of its suites that stays, if one alone does.
        """
        said, again = [], said_twice(choice)
        gone = set(walk(choice)) - {choice, *walk(kept)} if kept is not None else set()
        moved = [
            unit
            for unit in walk(choice)
            if unit is not choice and not self.edits.moved_comments.get(unit, gone) <= gone
        ]
        lines = (line for unit in moved for line in getattr(unit, "leading_lines", ()))
        again += Counter(
            line.comment.value
            for line in lines
            if line.comment is not None and line.comment not in self.edits.forgotten
        )
        for text in self._comments_in(choice):
            if again[text]:
                again[text] -= 1
            else:
                said.append(text)
        return said

    def orphaned_apart(self, unit: cst.CSTNode) -> list[cst.EmptyLine]:
        lines: list[cst.EmptyLine] = list(getattr(unit, "leading_lines", ()))
        while lines and lines[-1].comment is None:
            lines.pop()
        last = max((number for number, line in enumerate(lines, 1) if line.comment is None), default=0)
        texts = [line.comment for line in lines[:last] if line.comment is not None]
        return [cst.EmptyLine(comment=comment) for comment in texts if comment not in self.edits.forgotten]

    def _comments_in(self, node: cst.CSTNode) -> list[str]:
        """The text of every comment in a node of the program that stays in the file, those above it first."""
        above = {line.comment for line in getattr(node, "leading_lines", ()) if line.comment is not None}
        staying = [comment for comment in comments_of(node) if comment not in self.edits.forgotten]
        return [comment.value for comment in sorted(staying, key=lambda comment: comment not in above)]

    def leading(self, unit: cst.CSTNode) -> list[cst.EmptyLine]:
        """The lines above a unit, without the comments that go."""
        lines: Sequence[cst.EmptyLine] = getattr(unit, "leading_lines", ())
        return [line for line in lines if line.comment is None or line.comment not in self.edits.forgotten]

    def parsed(self, edit: Insert) -> Pieces:
        """The lines of what is inserted, built once: a block asks what they name before it puts them in."""
        if edit not in self._lines:
            self._lines[edit] = self._parsed(edit)
        return self._lines[edit]

    def _parsed(self, edit: Insert) -> Pieces:
        lines = composed_lines(edit.code, self._parts_in(edit.code), self._config)
        before = edit.before
        if not isinstance(before, cst.SimpleStatementLine):
            return lines
        # What moves into a line of its own stood under a bracket of the line before which that is inserted.
        return [
            realigned(before, line, self._tree) if isinstance(line, cst.SimpleStatementLine) else line for line in lines
        ]

    def indent(self, block: cst.CSTNode) -> str:
        """How much deeper a block stands than the statement that it belongs to."""
        return getattr(block, "indent", None) or self._tree.default_indent

    def in_scope(self, scope: Scope, inner: Pieces, block: Block) -> cst.With:
        remarked = {f"# {text}" for text in self.edits.remarks.values()}
        lines = inner[0].leading_lines  # type: ignore[attr-defined]
        leading = [line for line in lines if line.comment is None or line.comment.value not in remarked]
        remarks = [line for line in lines if line not in leading]
        code = scope.context if isinstance(scope.context, str) else scope.context.code
        context = composed(code, self._parts_in(code), self._config)
        return cst.With(
            items=[cst.WithItem(context)],
            # As deep as the block round it, where that differs from the file's first.
            body=cst.IndentedBlock([led(inner[0], remarks), *inner[1:]], indent=getattr(block, "indent", None)),
            leading_lines=leading,
        )
