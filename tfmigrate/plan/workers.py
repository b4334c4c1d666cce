"""What belongs to a strategy over several machines, beside the strategy itself.

Measured with two workers on one machine, TensorFlow 2.9 and 2.21: Keras 2 trains, evaluates and saves; Keras 3.15
fails in the first fit(), on numpy and datasets alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Insert, Replace
from tfmigrate.plan.groups import Refusal
from tfmigrate.plan.interfaces import calls_in, place_for_function
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.program import Unit, dotted
from tfmigrate.understand.values import ClassValue, FunctionValue, Method, Value, options

_LIBRARIES = ("tensorflow", "keras", "tf_keras")
_SETTING_UP = frozenset({"config", "ConfigProto", "logging", "set_session", "Session", "environ", "GPUOptions"})
_SAVES = frozenset({"save", "save_weights"})
_HELPER = "by_chief"


def place_of_strategy(draft: Draft, last: Unit) -> Unit:
    """The statement of the module's top level before which the strategy must be made: no operation may come first.

    It is the first that calls TensorFlow, Keras or a function of the program, other than to set devices up; or the one
    that `last`, where the model is built, stands in.
    """
    outermost = [last, *draft.module.ancestors(last)][-1]
    for unit in draft.module.tree.body:
        if not _only_defines(unit):
            if unit is outermost or any(_may_compute(call, draft) for call in calls_in(unit)):
                return unit
    return outermost  # type: ignore[return-value]


def _only_defines(unit: cst.CSTNode) -> bool:
    return isinstance(unit, cst.FunctionDef | cst.ClassDef)


def _may_compute(call: cst.Call, draft: Draft) -> bool:
    name = draft.facts.symbols.get(call.func, "").split(".")
    if name[0] in _LIBRARIES:
        return not _SETTING_UP.intersection(name)
    value = draft.facts.values.get(call.func)
    return value is not None and any(_is_of_the_program(option) for option in options(value))


def _is_of_the_program(value: Value) -> bool:
    return isinstance(value, FunctionValue | ClassValue) or (isinstance(value, Method) and value.function is not None)


def devices_problem(draft: Draft, place: Unit) -> Refusal | None:
    """Devices that are set up after the strategy is made, which TensorFlow refuses."""
    module = draft.module
    before = module.tree.body[: module.places[place].index]
    early = {call for unit in before if not _only_defines(unit) for call in calls_in(unit)}
    for call in calls_in(module.tree):
        name = draft.facts.symbols.get(call.func, "")
        if name.startswith("tensorflow.config.") and ".set_" in name and call not in early:
            return Refusal(
                codes.DEVICES_TOO_LATE,
                f"{dotted(call.func)}() at line {module.position(call)[0]} would come after the strategy, which "
                f"several machines need made before all else, at line {module.position(place)[0]}: move it up",
            )
    return None


def header(draft: Draft, *, keras_2: bool, saves: bool) -> Insert:
    """The lines before all imports: what the helper needs, and Keras 2 for TensorFlow 2.16 and later."""
    lines = ["import os"]
    if saves:
        lines.append("import tempfile")
    if keras_2:
        quote = draft.quote
        lines.append(f"os.environ.setdefault({quote}TF_USE_LEGACY_KERAS{quote}, {quote}1{quote})")
    place = next(unit for unit in draft.module.tree.body if not _stands_first(unit))
    return Insert(place, "\n".join(lines))


def _stands_first(unit: cst.CSTNode) -> bool:
    """A docstring or an import from __future__."""
    if not isinstance(unit, cst.SimpleStatementLine):
        return False
    small = unit.body[0]
    future = isinstance(small, cst.ImportFrom) and dotted(small.module) == "__future__"
    return future or (
        isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)
    )


def saves(facts: Facts, uses: Iterable[Use]) -> list[Use]:
    """The calls of one module that write a model's file."""
    found = {use.call: use for use in uses if use.method in _SAVES and use.site.frame.module is facts.module}
    return list(found.values())


def saved_by_chief(draft: Draft, uses: list[Use]) -> Iterator[Edit]:
    """Every worker saves, as it must, but only the chief to the path that is meant."""
    helper = draft.scopes.fresh(_HELPER, draft.scopes.module)
    functions = [use.call.func for use in uses]
    yield Insert(place_for_function(draft.module, functions), _chief(helper, draft.module.tree.default_indent))
    for function in functions:
        yield Replace(function, f"{helper}({{save}})", (("save", function),))


def _chief(name: str, indent: str) -> str:
    lines = [
        f"def {name}(save):",
        f'{indent}"""A model\'s save(): every worker must call it, and all but the chief write to a scratch folder."""',
        f"{indent}resolver = save.__self__.distribute_strategy.cluster_resolver",
        f'{indent}chief = "chief" if resolver and "chief" in resolver.cluster_spec().jobs else "worker"',
        f"{indent}if not resolver or not resolver.task_type or (resolver.task_type, resolver.task_id) == (chief, 0):",
        f"{indent * 2}return save",
        f"{indent}scratch = tempfile.mkdtemp()",
        "",
        f"{indent}def run(filepath, *args, **kwargs):",
        f"{indent * 2}return save(os.path.join(scratch, os.path.basename(filepath)), *args, **kwargs)",
        "",
        f"{indent}return run",
    ]
    return "\n".join(lines)
