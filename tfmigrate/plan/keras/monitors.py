"""Callbacks that watch a quantity: whether more or less of it is better was in its name, and is in its metric now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords, named_arguments, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.callbacks import changed_keys, metrics_given
from tfmigrate.plan.keras.checkpoints import CHECKPOINT, PARAMETERS, hands_on_rest, passed_on
from tfmigrate.plan.names.context import Context
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.values import ClassValue, FunctionValue, Items, Literal, Symbol, in_order
from tfmigrate.walk import words_in
from tfmigrate.written import Code, joined, shown

EARLY_STOPPING = "keras.callbacks.EarlyStopping"
PLATEAU = "keras.callbacks.ReduceLROnPlateau"
WATCHERS: Mapping[str, tuple[str, ...]] = {
    EARLY_STOPPING: ("monitor", "min_delta", "patience", "verbose", "mode", "baseline", "restore_best_weights"),
    PLATEAU: ("monitor", "factor", "patience", "verbose", "mode", "min_delta", "cooldown", "min_lr"),
    CHECKPOINT: PARAMETERS,
}
"""The callbacks that have `monitor` and `mode`, and their parameters in order, in every Keras 2."""
JUDGED_ALIKE = frozenset(
    {
        "loss", "acc", "accuracy", "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy",
        "top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy", "mse", "mae", "mape", "msle",
        "mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error",
        "mean_squared_logarithmic_error", "root_mean_squared_error", "binary_crossentropy",
        "categorical_crossentropy", "sparse_categorical_crossentropy", "poisson", "hinge", "squared_hinge",
        "categorical_hinge",
    }
)  # fmt: skip
"""What metrics log, named in compile() by these names: Keras 3 knows the same direction for them as old Keras."""
_MORE_IS_BETTER = re.compile(
    r"dice(?!s)|jacc?ard|precision|recall|score|f_?measure|f_?beta|kappa|sensitivity|specificity|similarity"
    r"|(iou|auc|roc|psnr|ssim|mcc|ndcg|bleu)(?![a-z])|(?<![a-z])(f1|r2|map|hits?)(?![a-z])"
)
_LESS_IS_BETTER = re.compile(r"loss|err|dist|entropy|diverg|(?<![a-z])r?m[as](p|l)?e(?![a-z])")


@dataclass(frozen=True)
class _Watcher:
    """One call that says what a callback watches."""

    name: str
    """The qualified name of Keras's class."""
    call: cst.Call
    monitor: cst.BaseExpression
    mode: cst.BaseExpression | None
    """What the call passes for the direction."""
    keyword: str = "mode"
    """What that is called in the call."""
    hidden: bool = False
    """Whether the call may pass it through `**`."""

    @property
    def title(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class _Judge:
    """How the old class took from a name whether more is better."""

    anywhere: tuple[str, ...] = ("acc",)
    begins: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def mode(self, monitor: str) -> str:
        up = any(part in monitor for part in self.anywhere)
        return "max" if up or monitor.startswith(self.begins) or monitor.endswith(self.ends) else "min"

    def code(self, monitor: Code, quote: str) -> Code:
        """The same for an expression that is known when the script runs."""
        tests: list[Code] = [(f"{_quoted(part, quote)} in ", *monitor) for part in self.anywhere]
        for method, parts in (("startswith", self.begins), ("endswith", self.ends)):
            listed = ", ".join(_quoted(part, quote) for part in parts)
            if parts:
                tests.append((*monitor, f".{method}({listed if len(parts) == 1 else f'({listed})'})"))
        return (f"{_quoted('max', quote)} if ", *joined(tests, " or "), f" else {_quoted('min', quote)}")


def _quoted(text: str, quote: str) -> str:
    return f"{quote}{text}{quote}"


_BY_ACC = _Judge()
_CHECKPOINTS = _Judge(begins=("fmeasure",))
_BY_ENDING = _Judge(anywhere=(), ends=("acc", "accuracy", "auc"))


def taken_from_name(monitor: str) -> str:
    """The mode that ModelCheckpoint of old Keras took from the name of what it watches."""
    return _CHECKPOINTS.mode(monitor)


def check(context: Context) -> Iterator[CallChange]:
    """`EarlyStopping('val_dice')`: the `mode=` that the old Keras took from the name is written out."""
    facts, modules = context.facts, context.modules.values()
    keys, settings, quote = changed_keys(context), context.settings, context.quote
    watchers = [candidate for candidate in _watchers(facts) if candidate.mode is None or _is_auto(candidate.mode)]
    own = frozenset(name for known in modules for name in _functions_in_metrics(known)) if watchers else frozenset()
    for watcher in watchers:
        judge = _judge(watcher, settings)
        if judge is not None:
            yield from _direction(watcher, judge, facts, keys, own, quote)


def _is_auto(mode: cst.BaseExpression) -> bool:
    """Whether a direction is left to the callback: by 'auto', and by any text that is none."""
    text = text_of(mode)
    return text is not None and text not in ("min", "max")


def _judge(watcher: _Watcher, settings: Settings) -> _Judge | None:
    """None where the program was written for Keras 3."""
    version = settings.written_for("keras" if names.flavour(watcher.name) == "keras" else "tensorflow") or ()
    if version >= ((3,) if names.flavour(watcher.name) == "keras" else (2, 16)):
        return None
    if names.canonical(watcher.name) == CHECKPOINT:
        return _CHECKPOINTS
    return _BY_ENDING if names.canonical(watcher.name) == EARLY_STOPPING and version >= (2, 7) else _BY_ACC


def _watchers(facts: Facts) -> Iterator[_Watcher]:
    for call in facts.module.calls:
        name = facts.called(call)
        values = facts.options(call.func)
        if names.canonical(name) in WATCHERS:
            yield from _watchers_made(call, name)
        elif len(values) == 1:
            (cls,) = values
            if isinstance(cls, ClassValue):
                yield from _made_of_own(call, cls)
    inner: dict[cst.Call, str] = {}
    for cls in facts.classes:
        initialiser, base = cls.members.get("__init__"), _base(cls)
        handed = passed_on(initialiser) if isinstance(initialiser, FunctionValue) else None
        if handed is not None and base is not None:
            inner[handed] = base
    for handed, base in inner.items():
        yield from _watchers_made(handed, base)


def _base(cls: ClassValue) -> str | None:
    """The watching class of Keras, by its qualified name, whose heir a class of the program is itself."""
    bases = [base.name for base in cls.bases if isinstance(base, Symbol) and names.canonical(base.name) in WATCHERS]
    return bases[0] if len(bases) == 1 else None


def _watchers_made(call: cst.Call, name: str) -> Iterator[_Watcher]:
    named = named_arguments(call, WATCHERS[names.canonical(name)])
    hidden = named is None
    named = keywords(call) if named is None else named
    if "monitor" in named:
        mode = named["mode"].value if "mode" in named else None
        yield _Watcher(name, call, named["monitor"].value, mode, hidden=hidden)


def _made_of_own(call: cst.Call, cls: ClassValue) -> Iterator[_Watcher]:
    """An object of a class that descends from a watching one, where what it is given is handed on as it is."""
    heir = next((ancestor for ancestor in cls.ancestors() if _base(ancestor) is not None), None)
    base = _base(heir) if heir is not None else None
    if heir is None or base is None:
        return
    initialiser = cls.lookup("__init__")
    present = keywords(call)
    if not isinstance(initialiser, FunctionValue):
        yield from _watchers_made(call, base)
    elif (
        hands_on_rest(cls)
        and "monitor" in present
        and {"monitor", "mode"}.isdisjoint(parameters_of(initialiser.node))
    ):
        mode = present["mode"].value if "mode" in present else None
        yield _Watcher(base, call, present["monitor"].value, mode, hidden="**" in [arg.star for arg in call.args])
    elif heir.members.get("__init__") is initialiser:
        yield from _handed_on_by_name(call, initialiser, base)


def _handed_on_by_name(call: cst.Call, initialiser: FunctionValue, base: str) -> Iterator[_Watcher]:
    """`super().__init__(monitor=what, mode=how)` of what its own initialiser calls otherwise, or has a default for."""
    handed = passed_on(initialiser)
    inner = named_arguments(handed, WATCHERS[names.canonical(base)]) if handed is not None else None
    params = initialiser.node.params
    places = [param.name.value for param in positional(params)[1:]]
    declared = {param.name.value: param for param in (*positional(params)[1:], *params.kwonly_params)}
    called = {name: arg.value.value for name, arg in (inner or {}).items() if isinstance(arg.value, cst.Name)}
    monitor, mode = declared.get(called.get("monitor", "")), declared.get(called.get("mode", ""))
    named = named_arguments(call, places)
    if monitor is None or mode is None or named is None:
        return
    watched = named[monitor.name.value].value if monitor.name.value in named else monitor.default
    written = named[mode.name.value].value if mode.name.value in named else None
    if watched is not None and (written is not None or (mode.default is not None and _is_auto(mode.default))):
        yield _Watcher(base, call, watched, written, mode.name.value)


def _functions_in_metrics(facts: Facts) -> Iterator[str]:
    """What functions are called that compile() gets as metrics: Keras 3 knows no direction of most of them."""
    for metrics in metrics_given(facts):
        yield from words_in(metrics)
        listed = [item for items in facts.options(metrics) if isinstance(items, Items) for item in items.values]
        for option in (option for item in listed for option in in_order(item)):
            if isinstance(option, FunctionValue) and isinstance(option.node, cst.FunctionDef):
                yield option.node.name.value


def _direction(
    watcher: _Watcher, judge: _Judge, facts: Facts, keys: Mapping[str, str], own: frozenset[str], quote: str
) -> Iterator[CallChange]:
    watched = _texts(watcher.monitor, facts)
    if watched is not None and all(_is_known(keys.get(text, text), own) for text in watched):
        return
    modes = {judge.mode(text) for text in watched} if watched is not None else set()
    if any(part in text for text in _literal_parts(watcher.monitor) for part in judge.anywhere):
        modes = {"max"}  # whatever the rest of the name is
    code = facts.module.code(watcher.monitor)
    if watcher.hidden or (len(modes) != 1 and not is_pure(watcher.monitor)):
        message = (
            f"the old {watcher.title} inferred the direction from the monitored name; Keras 3 asks the metric, and "
            "fails if it has none: pass `mode=`"
        )
        yield CallChange(codes.MONITOR_DIRECTION, watcher.call, message, action="warn")
        return
    if len(modes) == 1:
        (mode,) = modes
        new: Code = (_quoted(mode, quote),)
    else:
        plain = isinstance(watcher.monitor, cst.Name | cst.Attribute | cst.Subscript)
        new = judge.code((watcher.monitor,) if plain else ("(", watcher.monitor, ")"), quote)
    edit = (
        Replace(watcher.mode, new)
        if watcher.mode is not None
        else Revision(watcher.call, set=((watcher.keyword, new),))
    )
    message = (
        f"the old {watcher.title} inferred the direction from the name {code}, and Keras 3 asks the metric, which may "
        f"differ or have none: `{watcher.keyword}={shown(new)}` is what it inferred"
    )
    yield CallChange(codes.MONITOR_DIRECTION, watcher.call, message, edit)
    for text in sorted(watched or ()):
        if not _is_doubtful(text, judge.mode(text)):
            continue
        lower, higher, other = ("lower", "higher", "max") if judge.mode(text) == "min" else ("higher", "lower", "min")
        message = (
            f"{text!r} sounds as if {higher} were better, but the old {watcher.title} took {lower} as better, which is "
            f"kept: write `{watcher.keyword}={_quoted(other, quote)}` if {higher} was meant"
        )
        yield CallChange(codes.MONITOR_DIRECTION, watcher.call, message, action="warn")


def _texts(node: cst.BaseExpression, facts: Facts) -> frozenset[str] | None:
    """All texts that an expression can be; None where others can come."""
    text = text_of(node)
    if text is not None:
        return frozenset((text,))
    if isinstance(node, cst.IfExp):
        first, other = _texts(node.body, facts), _texts(node.orelse, facts)
        return first | other if first is not None and other is not None else None
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        first, other = _texts(node.left, facts), _texts(node.right, facts)
        return frozenset(left + right for left in first for right in other) if first and other else None
    literals = [option.value if isinstance(option, Literal) else None for option in facts.options(node)]
    texts = [value for value in literals if isinstance(value, str)]
    return frozenset(texts) if texts and len(texts) == len(literals) else None


def _literal_parts(node: cst.BaseExpression) -> Iterator[str]:
    """The literals of a text that is put together with `+`."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        yield from (*_literal_parts(node.left), *_literal_parts(node.right))
    elif (text := text_of(node)) is not None:
        yield text


def _is_known(text: str, own: frozenset[str]) -> bool:
    """Whether Keras 3 takes for better of a quantity what the old Keras took."""
    metric = text.removeprefix("val_")
    return metric in JUDGED_ALIKE and metric not in own


def _is_doubtful(text: str, mode: str) -> bool:
    """Whether a quantity has a name for which the other direction is better."""
    less = _LESS_IS_BETTER.search(text.lower()) is not None
    more = _MORE_IS_BETTER.search(text.lower()) is not None
    return less if mode == "max" else more and not less
