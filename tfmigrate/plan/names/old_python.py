"""Names of Python's library, NumPy and SciPy that are gone from the versions that today's TensorFlow runs with."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, keywords, passed_as, unchanged
from tfmigrate.plan.edits import Arguments, Edit, Insert, Rank, Remove, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.excused import taken_out
from tfmigrate.plan.names.imports import among_standard
from tfmigrate.plan.names.tables import Tables
from tfmigrate.understand.guarded import guarded
from tfmigrate.understand.import_statements import imports_of, packages_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Occurrence
from tfmigrate.understand.syntax import dotted, root_name


def check(context: Context) -> Iterator[CallChange]:
    """`np.int` is `int`, `np.Inf` is `np.inf`; what has no equal is reported where it is used, or imported."""
    facts, scopes, tables = context.facts, context.scopes, context.tables
    asks_first = guarded(facts.module)
    inner = {node.value for node in facts.symbols if isinstance(node, cst.Attribute)}
    for node, name in facts.symbols.items():
        root = root_name(node)
        if not isinstance(node, cst.Attribute) or node in asks_first or root not in facts.symbols:
            continue
        new = tables.builtins.get(name)
        if new is not None and not any(new in scope.bound for scope in scopes.by_node.values()):
            yield CallChange(
                codes.OLD_PYTHON, node, f"{name} was an alias of the builtin {new} and was removed", Replace(node, new)
            )
        elif node not in inner and _advice(facts.symbols[root], tables) is None:
            advice = _advice(name, tables)
            if advice is None:
                continue
            yield CallChange(codes.PYTHON_NAME_IS_GONE, node, f"{name} is gone: {advice}", action="warn")
    yield from _specifications(context)
    yield from _matrices(context)
    yield from _modules_through_numpy(context)
    yield from _splits(context)
    yield from _loaders(context)
    yield from _print_options(context)
    yield from _reshapes(context)
    yield from _interpolations(context)


def check_last(context: Context, others: Sequence[CallChange]) -> Iterator[CallChange]:
    """Imports that fail, but for those of which all readers go, and the import with them."""
    if codes.PYTHON_NAME_IS_GONE not in context.tables.wanted:
        return
    facts, scopes, tables = context.facts, context.scopes, context.tables
    asks_first, going = guarded(facts.module), set(taken_out(others))
    for statement, _ in facts.module.imports:
        if statement in asks_first or (isinstance(statement, cst.ImportFrom) and statement.relative):
            continue
        if isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar):
            imported: dict[str, cst.ImportAlias | None] = {dotted(statement.module): None}
        else:
            imported = {
                full: alias
                for alias, bound, full in imports_of(statement)
                if not _goes(scopes.of_variable(bound, scopes.module), going)
            }
        for full, alias in imported.items():
            advice = _advice(full, tables)
            if advice is None:
                continue
            if alias is not None and alias in context.unread:
                message = f"{full} is gone, and nothing here uses it: its import is removed"
                yield CallChange(codes.PYTHON_NAME_IS_GONE, statement, message, Remove(alias))
            else:
                yield CallChange(codes.PYTHON_NAME_IS_GONE, statement, f"{full} is gone: {advice}", action="warn")


def _goes(mentions: Iterable[Occurrence], going: Set[cst.CSTNode]) -> bool:
    """Whether a name was read, and nothing reads it any more."""
    reads = [mention.node for mention in mentions if not mention.binds]
    return bool(reads) and all(read in going for read in reads)


def _specifications(context: Context) -> Iterator[CallChange]:
    """`args, _, _, _ = inspect.getargspec(f)`: what getfullargspec() answers has seven parts, and `varkw` for
    `keywords`."""
    facts, scopes = context.facts, context.scopes
    calls = {call for call in facts.module.calls if facts.called(call) == "inspect.getargspec"}
    if not calls:
        return
    for node in facts.module.all_of(cst.Assign, cst.Attribute):
        if isinstance(node, cst.Assign):
            made = settled(node.value, scopes)
            if made in calls and isinstance(node.targets[0].target, cst.Tuple | cst.List):
                message = "getfullargspec() returns seven parts, of which getargspec() had four: these are taken"
                yield CallChange(codes.OLD_PYTHON, node.value, message, Replace(node.value, (node.value, "[:4]")))
        elif node.attr.value == "keywords" and settled(node.value, scopes) in calls:
            message = "`keywords` of getargspec() is `varkw` of getfullargspec()"
            yield CallChange(codes.OLD_PYTHON, node, message, Replace(node, (node.value, ".varkw")))


def _matrices(context: Context) -> Iterator[CallChange]:
    """`frame.as_matrix()` of pandas is `frame.values`; nothing else has a method of that name."""
    facts = context.facts
    if not any(_imports_pandas(module) for module in context.modules):
        return
    for call in facts.module.calls:
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "as_matrix":
            continue
        if call.args:
            advice = "use frame[columns].values"
            yield CallChange(codes.PYTHON_NAME_IS_GONE, call, f"as_matrix of pandas is gone: {advice}", action="warn")
            continue
        message = "as_matrix() was removed from pandas: `values` is the same"
        yield CallChange(codes.OLD_PYTHON, call, message, Replace(call, (call.func.value, ".values")))


def _modules_through_numpy(context: Context) -> Iterator[CallChange]:
    """`np.math.ceil(x)`: NumPy imported these modules of Python's, and its users reached through it."""
    facts, scope = context.facts, context.scopes.module
    for name in ("math", "warnings"):
        full = f"numpy.{name}"
        attributes = [n for n, symbol in facts.symbols.items() if symbol == full and isinstance(n, cst.Attribute)]
        if not attributes:
            continue
        statements = list(facts.module.imports)
        imports = [full for statement, _ in statements for _, _, full in imports_of(statement)]
        tops = [
            unit
            for statement, unit in statements
            if facts.module.places[unit].owner is None
            and any(full.split(".")[0] == "numpy" for _, _, full in imports_of(statement))
        ]
        more: tuple[Edit, ...] = ()
        if name not in imports:
            if not tops or any(name in lexical.bound for lexical in (scope, *context.scopes.by_node.values())):
                continue
            more = (Insert(among_standard(tops[0], facts.module), f"import {name}", rank=Rank.IMPORT),)
        for node in attributes:
            message = f"{name} was a module of Python that NumPy imported"
            yield CallChange(codes.OLD_PYTHON, node, message, Replace(node, name), more=more)


def _splits(context: Context) -> Iterator[CallChange]:
    """`re.split(r"(\\W+)?", text)`: up to Python 3.6 an empty match split nothing."""
    facts = context.facts
    for call in facts.module.calls:
        pattern = call.args[0].value if call.args and facts.called(call) == "re.split" else None
        if not isinstance(pattern, cst.SimpleString) or not _matches_nothing(pattern.evaluated_value):
            continue
        message = "re.split() ignored empty matches up to Python 3.6, and splits at each of them since 3.7"
        code, _, end = pattern.value.rpartition(")?")
        if end == pattern.quote and _is_one_group(pattern.evaluated_value):
            message += ", where a group that matched nothing returns None: the group is no longer optional"
            yield CallChange(codes.OLD_PYTHON, pattern, message, Replace(pattern, f"{code}){end}"))
        else:
            message += ": write a pattern that does not match an empty string"
            yield CallChange(codes.OLD_PYTHON, pattern, message, action="warn")


def _loaders(context: Context) -> Iterator[CallChange]:
    """`yaml.load(file)`: PyYAML 6 wants to be told by which class."""
    facts = context.facts
    for call in facts.module.calls:
        name = facts.symbols.get(call.func)
        if name not in ("yaml.load", "yaml.load_all") or len(call.args) != 1 or call.args[0].star:
            continue
        message = f"{name}() of PyYAML 6 requires a Loader (TypeError)"
        if isinstance(call.func, cst.Attribute):
            loader = (call.func.value, ".FullLoader")
            message += ": FullLoader, its former default, is written"
            yield CallChange(codes.OLD_PYTHON, call, message, Revision(call, set=(("Loader", loader),)))
        else:
            message += ": pass Loader=yaml.FullLoader"
            yield CallChange(codes.PYTHON_NAME_IS_GONE, call, message, action="warn")


def _print_options(context: Context) -> Iterator[CallChange]:
    """`np.set_printoptions(threshold=np.nan)`: no array was longer than that, until NumPy 1.14 refused it."""
    facts = context.facts
    for call in facts.module.calls:
        if facts.symbols.get(call.func) not in ("numpy.set_printoptions", "numpy.printoptions"):
            continue
        threshold = passed_as("threshold", 1, call)
        value = threshold.value if threshold is not None else None
        name = facts.symbols.get(value, "") if value is not None else ""
        message = "NumPy does not accept a threshold that is not a number (ValueError since 1.14)"
        if isinstance(value, cst.Attribute) and name == "numpy.nan":
            edit = Replace(value, (value.value, ".inf"))
            yield CallChange(codes.OLD_PYTHON, value, f"{message}: inf also prints arrays in full", edit)
        elif value is not None and name in ("numpy.nan", "numpy.NaN", "numpy.NAN"):
            yield CallChange(codes.OLD_PYTHON, value, f"{message}: write numpy.inf", action="warn")


_PERCENTILES = frozenset(f"numpy.{name}" for name in ("percentile", "quantile", "nanpercentile", "nanquantile"))


def _interpolations(context: Context) -> Iterator[CallChange]:
    """`np.percentile(a, 50, interpolation="lower")`: the argument is `method` since NumPy 1.22."""
    for call in context.facts.module.calls:
        renamed = keywords(call).get("interpolation")
        if renamed is None or context.facts.symbols.get(call.func) not in _PERCENTILES:
            continue
        message = "the argument `interpolation` is `method` since NumPy 1.22; NumPy 2.4 no longer accepts the old name"
        named = (
            replace(known, keyword="method") if known.source is renamed else known for known in unchanged(call.args)
        )
        yield CallChange(codes.OLD_PYTHON, renamed, message, Arguments(call, tuple(named)))


def _reshapes(context: Context) -> Iterator[CallChange]:
    """`np.reshape(a, newshape=shape)`: each NumPy takes it by its place, by the name `shape` those from 2.1."""
    for call in context.facts.module.calls:
        if context.facts.symbols.get(call.func) != "numpy.reshape" or has_stars(call):
            continue
        shape = keywords(call).get("newshape")
        if shape is None:
            continue
        message = "np.reshape() of NumPy 2.4 has no argument `newshape` (TypeError)"
        if call.args[1] is shape and call.args[0].keyword is None:
            by_place = (
                replace(known, keyword=None) if known.source is shape else known for known in unchanged(call.args)
            )
            edit = Arguments(call, tuple(by_place))
            yield CallChange(codes.OLD_PYTHON, shape, f"{message}: the shape is passed by position", edit)
        else:
            yield CallChange(codes.OLD_PYTHON, shape, f"{message}: pass the shape by position", action="warn")


def _matches_nothing(pattern: str | bytes) -> bool:
    """Whether a pattern matches an empty text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # Of a set in a set.
            return isinstance(pattern, str) and re.compile(pattern).fullmatch("") is not None
    except (re.error, RecursionError, OverflowError):
        return False


def _is_one_group(pattern: str | bytes) -> bool:
    """Whether a pattern is one group that may be absent, and matches something where it is there."""
    if not isinstance(pattern, str) or not pattern.startswith("(") or not pattern.endswith(")?"):
        return False
    inner = pattern[1:-2]
    return inner != "" and "(" not in inner and ")" not in inner and not _matches_nothing(inner)


def _imports_pandas(module: Module) -> bool:
    imports = module.imports if "pandas" in module.text else ()
    return any("pandas" in packages_of(statement) for statement, _ in imports)


def _advice(name: str, tables: Tables) -> str | None:
    """What the table of names that are gone says about a name, or about the module it stands in."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        head = ".".join(parts[:end])
        if head in tables.moves.table:
            return None
        if head in tables.gone_python:
            return tables.gone_python[head]
    return None
