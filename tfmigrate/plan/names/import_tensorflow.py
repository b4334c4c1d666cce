"""`import tensorflow as tf` where the edits need it."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import ImportNames, Insert, Rank, Remove, Unwrap
from tfmigrate.plan.names.imports import in_try, is_standard
from tfmigrate.understand.blocks import Unit, is_docstring, is_seam, only_statement, units_of
from tfmigrate.understand.import_statements import imports_at, imports_of, packages_of
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import reaching
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import calls_in, nodes_in, words_in

_WITHOUT_IMPORTS = (cst.FunctionDef, cst.ClassDef, cst.With, cst.For, cst.While)
"""Statements below which a script has no more imports, as a rule."""


def import_tensorflow(draft: Draft) -> None:
    """`import tensorflow as tf` where the edits need it: beside the first import of Keras, or where imports begin."""
    module = draft.module
    standing = False
    conditional: list[tuple[cst.Import | cst.ImportFrom, Unit]] = []
    inner: list[tuple[cst.Import | cst.ImportFrom, Unit]] = []
    for statement, unit in module.imports:
        if any(bound == draft.tf for _, bound, _ in imports_of(statement)):
            standing |= module.places[unit].owner is None
            (conditional if draft.scope_round(unit) is draft.scopes.module else inner).append((statement, unit))
    if not _is_wanted(draft):
        return
    if draft.tf == "tf":
        draft.edits.extend(Remove(statement) for statement in draft.takes_tensorflow)
    served = [(statement, unit) for statement, unit in (*conditional, *inner) if _serves(unit, draft)]
    below = [later for _, unit in served for later in _below(unit, draft)]
    if not standing and not draft.reaches_into(draft.tf, except_in=below):
        return  # It is imported where it is needed.
    place = _below_settings(_place_for_import(draft), draft)
    if not standing and place is not None:
        draft.edits.append(Insert(place, _line(draft), rank=Rank.IMPORT))
        for statement, unit in conditional:
            _drop_conditional(draft, statement, unit)
    for statement, unit in inner:
        if (statement, unit) not in served and _is_in_the_way(statement, unit, draft):
            draft.edits.append(ImportNames(statement))


def _is_in_the_way(statement: cst.Import | cst.ImportFrom, unit: Unit, draft: Draft) -> bool:
    """Whether an import in a function makes the name a local variable there, which has no value above that line."""
    alone = len(list(imports_of(statement))) == 1 and not in_try(draft.module, unit)
    return alone and draft.reaches_into(draft.tf, draft.scope_round(unit).node)


def _line(draft: Draft) -> str:
    return f"import tensorflow as {draft.tf}"


def _is_wanted(draft: Draft) -> bool:
    """Whether the edits read the name, and no rule has written the import."""
    written = any(isinstance(edit, Insert) and edit.text == _line(draft) for edit in draft.edits)
    return not written and draft.reaches_into(draft.tf)


def _below(unit: Unit, draft: Draft) -> list[Unit]:
    """The units of the same block below one."""
    units = units_of(draft.module.places[unit].block)
    return list(units[units.index(unit) + 1 :])


def _serves(unit: Unit, draft: Draft) -> bool:
    """Whether an import in a function, or in an `if`, is above all that the edits there need it for."""
    if in_try(draft.module, unit):
        return False
    round_: cst.CSTNode = draft.scope_round(unit).node
    if draft.scope_round(unit) is draft.scopes.module:
        owner = draft.module.places[unit].owner
        if owner is None:
            return False
        round_ = owner
    return draft.reaches_into(draft.tf, round_) and not draft.reaches_into(
        draft.tf, round_, except_in=_below(unit, draft)
    )


def _drop_conditional(draft: Draft, statement: cst.Import | cst.ImportFrom, unit: Unit) -> None:
    """`if K.backend() == 'tensorflow': import tensorflow as tf` has nothing left to do."""
    owner = draft.module.places[unit].owner
    if len(list(imports_of(statement))) != 1 or not isinstance(owner, cst.If):
        return
    draft.edits.append(ImportNames(statement))
    alone = len(units_of(draft.module.places[unit].block)) == 1 and owner.orelse is None
    if alone and is_pure(owner.test) and draft.module.places[unit].block is owner.body:
        draft.edits.append(Unwrap(owner, None))


def _place_for_import(draft: Draft) -> Unit | None:
    places = _Places(draft)
    for unit in units_of(draft.module.tree):
        if _is_ahead_of_all(unit):
            continue
        if _is_magic(unit, draft):  # It may install TensorFlow.
            places.begin_again()
            continue
        places.note(unit)
        # Settings stand between imports: a script sets os.environ before it imports Keras, which brings TensorFlow.
        if places.keras is not None or isinstance(unit, _WITHOUT_IMPORTS):
            break
    return places.keras or places.first or places.standing or places.above


@dataclass
class _Places:
    """Where the import may stand, as far as the lines of a module have been read."""

    draft: Draft
    keras: Unit | None = None
    """The first line that imports Keras or TensorFlow."""
    first: Unit | None = None
    """The first import, those of the standard library left out where another follows."""
    standing: Unit | None = None
    """The first line of all."""
    above: Unit | None = None
    """The best of these above the last line that they may not stand above."""
    needed: bool = False
    """Whether a line so far needs it."""

    def begin_again(self) -> None:
        self.above = self.first or self.standing or self.above
        self.first = self.standing = None

    def note(self, unit: Unit) -> None:
        self.standing = self.standing or unit
        if imports_at(unit) and not self.needed and (self.first is None or is_standard(self.first)):
            self.first = unit
        self.needed = self.needed or self.draft.reaches_into(self.draft.tf, unit)
        if _brings_tensorflow(unit):
            self.keras = self.keras or unit


def _is_ahead_of_all(unit: Unit) -> bool:
    """Whether a line stands above every import, or is none: a docstring, an import from __future__, a cell's end."""
    roots = {root for small in imports_at(unit) for root in packages_of(small)}
    return "__future__" in roots or is_docstring(only_statement(unit)) or is_seam(unit)


def _below_settings(place: Unit | None, draft: Draft) -> Unit | None:
    """A place for the import, or one further down where variables of the environment are set between: TensorFlow reads
    many of them when it is imported."""
    units = units_of(draft.module.tree)
    if place is None or place not in units or any(_brings_tensorflow(unit) for unit in units[: units.index(place) + 1]):
        return place
    setting: set[str] = set()
    using: set[str] = set()
    for number, unit in enumerate(units):
        after = number >= units.index(place)
        if isinstance(unit, cst.FunctionDef):
            if any(draft.reaches_into(draft.tf, part) for part in (unit.params, *unit.decorators)):
                return place
            using.update({unit.name.value} if draft.reaches_into(draft.tf, unit) else ())
            setting.update({unit.name.value} if _sets_environment(unit) else ())
            continue
        names = words_in(unit)
        if draft.reaches_into(draft.tf, unit) or _brings_tensorflow(unit) or not using.isdisjoint(names):
            return place
        if after and (_sets_environment(unit) or not setting.isdisjoint(names)) and number + 1 < len(units):
            place = units[number + 1]
    return place


def _brings_tensorflow(unit: Unit) -> bool:
    return any(root in ("keras", "tensorflow") for small in imports_at(unit) for root in packages_of(small))


def _sets_environment(unit: Unit) -> bool:
    """Whether a statement sets variables of the environment: `os.environ[...] = ...`, setdefault(), update()."""
    for part in nodes_in(unit, cst.AssignTarget):
        if isinstance(part.target, cst.Subscript) and _is_environment(part.target.value):
            return True
    return any(_is_setter(call.func) for call in calls_in(unit))


def _is_setter(func: cst.BaseExpression) -> bool:
    if isinstance(func, cst.Attribute) and func.attr.value in ("setdefault", "update"):
        return _is_environment(func.value)
    return dotted(func).rpartition(".")[2] in ("putenv", "load_dotenv")


def _is_environment(node: cst.BaseExpression) -> bool:
    return dotted(node).rpartition(".")[2] == "environ"


def _is_magic(unit: Unit, draft: Draft) -> bool:
    """Whether a line is `name()` of a name that nothing binds, as a magic or shell line of a notebook stands here."""
    statement = only_statement(unit)
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or call.args:
        return False
    return not reaching(call.func.value, draft.scopes.module, draft.scopes)
