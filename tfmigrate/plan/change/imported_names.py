"""Where a name that a module has from another one of the program is bound: `from settings import path`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.import_statements import imports_at
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.reaching import bindings_of, reaching
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import dotted

Binding = tuple[Module, Occurrence]


@dataclass(frozen=True, eq=False)
class ImportedNames:
    """Follows names through the imports of a program to what binds them."""

    program: Program
    scopes: Mapping[Module, Scopes]
    set_from_outside: Set[str]
    """Attributes that some module sets on anything but `self`: `settings.path = args.path`."""

    @classmethod
    def of(cls, scopes: Mapping[Module, Scopes]) -> ImportedNames:
        targets = (target.target for module in scopes for target in module.all_of(cst.AssignTarget))
        attributes = (target for target in targets if isinstance(target, cst.Attribute))
        names = frozenset(one.attr.value for one in attributes if dotted(one.value) != "self")
        return cls(Program(list(scopes)), scopes, names)

    def of_name(self, name: str, binding: Occurrence | None, module: Module) -> Sequence[Binding]:
        """What binds a name that a module imports, by `binding` or by a star import; none where it is not known."""
        seen = frozenset[Module]()
        return [*(self._in(name, module, seen) if binding is None else self._through(binding, module, seen))]

    def of_attribute(self, node: cst.Attribute, module: Module) -> Sequence[Binding]:
        """What binds `settings.path` in the module `settings`; none where it is not known."""
        source = self._module(node.value, module)
        return [*self._in(node.attr.value, source, frozenset())] if source is not None else []

    def _in(self, name: str, module: Module, seen: Set[Module]) -> Iterator[Binding]:
        """What binds a name of the top level of a module, or of the one that it has the name from."""
        if module in seen or name in self.set_from_outside:
            return
        reached = (source for source in self.program.reached_by_stars(module) if isinstance(source, Module))
        for source in reached:
            bindings = reaching(name, self.scopes[source].module, self.scopes[source])
            for binding in bindings:
                if isinstance(binding.node, cst.ImportAlias):
                    yield from self._through(binding, source, seen | {module})
                else:
                    yield source, binding
            if bindings:
                return

    def _through(self, binding: Occurrence, module: Module, seen: Set[Module]) -> Iterator[Binding]:
        """What binds the name that an import takes from a module of the program."""
        alias = binding.node
        statement = _statement_of(alias, binding.unit) if isinstance(alias, cst.ImportAlias) else None
        if isinstance(alias, cst.ImportAlias) and isinstance(statement, cst.ImportFrom):
            source = self.program.source(statement, module)
            if source is not None:
                yield from self._in(dotted(alias.name), source, seen)

    def _module(self, node: cst.BaseExpression, module: Module) -> Module | None:
        """The module of the program that `settings` or `package.settings` is, by the import of its first word."""
        root, _, rest = dotted(node).partition(".")
        first = node
        while isinstance(first, cst.Attribute):
            first = first.value
        bindings = bindings_of(first, self.scopes[module]) if root else []
        alias = bindings[0].node if len(bindings) == 1 else None
        if not isinstance(alias, cst.ImportAlias):
            return None
        statement = _statement_of(alias, bindings[0].unit)
        name = dotted(alias.name)
        if isinstance(statement, cst.ImportFrom):
            named = [dotted(statement.module), name, rest]
            return self.program.imported(".".join(filter(None, named)), len(statement.relative), module)
        full = f"{name}.{rest}".rstrip(".") if alias.asname is not None else dotted(node)
        return self.program.imported(full, 0, module)


def _statement_of(alias: cst.ImportAlias, unit: Unit) -> cst.Import | cst.ImportFrom | None:
    for statement in imports_at(unit):
        if not isinstance(statement.names, cst.ImportStar) and alias in statement.names:
            return statement
    return None
