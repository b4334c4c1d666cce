"""What an import binds: modules of the program, which run first, and names of libraries."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.stars import brought
from tfmigrate.understand.state import State, Walker
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ModuleValue, Symbol, Value


def import_modules(walker: Walker, small: cst.Import) -> None:
    """`import a.b`, `import a.b as c`."""
    for alias, bound, full in imports_of(small):
        whole = dotted(alias.name)
        module = _imported(walker, whole if alias.asname is not None else full, 0)
        value: Value = ModuleValue(module) if module is not None else Symbol(full)
        walker.state.bind(bound, value)
        if alias.asname is None and "." in whole:
            _import_inner(walker, value, whole)


def _import_inner(walker: Walker, package: Value, whole: str) -> None:
    """The modules below the one that `import a.b.c` binds."""
    state = walker.state
    first, *rest = whole.split(".")
    for name in rest:
        first = f"{first}.{name}"
        module = _imported(walker, first, 0)
        value: Value = ModuleValue(module) if module is not None else Symbol(first)
        if type(value) is not type(package):  # else the one leads to the other by itself
            state.inner[state.frame.module, package, name] = value
        package = value


def import_names(walker: Walker, small: cst.ImportFrom) -> None:
    """`from a import b`, `from a import *`."""
    state = walker.state
    source, level = dotted(small.module), len(small.relative)
    module = _imported(walker, source, level)
    if isinstance(small.names, cst.ImportStar):
        _import_star(state, source, level, module)
        return
    for alias, bound, full in imports_of(small):
        name = dotted(alias.name)
        value: Value = Symbol(full)
        if module is not None:
            state.program_facts.exported.add((module, name))
            value = state.store.get((state.tops[module], name)) or value
        if isinstance(value, Symbol):
            inner = _imported(walker, f"{source}.{name}" if source else name, level)
            value = ModuleValue(inner) if inner is not None else value
        if module is not None and value == Symbol(full):
            value = _handed_on(state, alias, member_through_star(state, module, name)) or value
        state.bind(bound, value)


def _handed_on(state: State, alias: cst.ImportAlias, value: Symbol | None) -> Symbol | None:
    """What an import takes of a library by way of a module of the program, which has it by a star import."""
    if value is not None:
        state.facts.handed_on[alias] = value.name
    return value


def _imported(walker: Walker, name: str, level: int) -> Module | None:
    """The module of this program that an import means, run if it was not yet."""
    state = walker.state
    here = state.frame.module
    module = state.program.imported(name, level, here)
    if module is None or module is here:
        return None
    state.program_facts.imports.add((here, module))
    state.program_facts.import_sites.setdefault((here, module), state.site)
    walker.load(module)
    return module


def _import_star(state: State, source: str, level: int, module: Module | None) -> None:
    """Everything from a module of this program; what a library brings is looked up when it is used."""
    stars = state.facts.stars
    if module is not None:
        stars.extend(state.program_facts.modules[module].stars)
        for name, value in list(state.store.of(state.tops[module])):
            if not name.startswith("_"):
                state.program_facts.exported.add((module, name))
                state.bind(name, value)
        return
    stars.append("." * level + source)
    if not level and names.canonical(f"{source}.multi_gpu_model") == names.MULTI_GPU_MODEL:
        state.bind("multi_gpu_model", Symbol(f"{source}.multi_gpu_model"))


def member_through_star(state: State, module: Module, name: str) -> Symbol | None:
    """What an attribute of a module is that nothing in it binds: one of the library that it star-imports.

    `from tensorflow.compat.v1 import *` brings all names of TensorFlow, whatever they are.
    """
    stars = state.program_facts.modules[module].stars
    for source in reversed(stars):
        known = brought(source, name)
        if known is not None:
            return Symbol(known)
    if name.startswith("_") or len(set(stars)) != 1 or names.plain(f"{stars[0]}.{name}") != f"tensorflow.{name}":
        return None
    return Symbol(f"{stars[0]}.{name}")


def through_star(state: State, name: str) -> Symbol | None:
    """What a name is that nothing in its module binds, where a star import brings it, or where it says so itself."""
    stars = state.facts.stars
    for source in reversed(stars):
        known = brought(source, name)
        if known is not None:
            return Symbol(known)
    if name == "multi_gpu_model" and state.names_keras:
        # Nothing else in the module binds it, so one of the star imports must.
        return Symbol(names.MULTI_GPU_MODEL if stars else names.UNDEFINED)
    return None
