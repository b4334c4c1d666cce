"""Callbacks that watch a quantity: whether more or less of it is better was in its name, and is in its metric now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.callbacks import changed_keys, metrics_given
from tfmigrate.plan.keras.checkpoints import CHECKPOINT
from tfmigrate.plan.keras.forwarding import Given, arguments_of
from tfmigrate.plan.keras.handed_on import Construction
from tfmigrate.plan.keras.watchers import EARLY_STOPPING, WATCHERS, watching
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.ordering import in_order
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import default_of, explicit, parameters_of
from tfmigrate.understand.values import FunctionValue, Items, Literal
from tfmigrate.walk import words_in
from tfmigrate.written import Code, joined, shown

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
    """One call that says, or can say, which direction a callback watches for."""

    name: str
    """The qualified name of Keras's class."""
    call: cst.Call
    facts: Facts
    """Of the module that it stands in."""
    monitors: Sequence[Given]
    """What it watches, of each object that the call has a part in."""
    monitor: cst.BaseExpression | None
    """What the call says of that itself."""
    mode: cst.BaseExpression | None
    """What the call passes for the direction."""
    keyword: str | None = "mode"
    """What that is called in the call; None where the call cannot say it."""
    hidden: bool = False
    """Whether it may be passed through `**`."""

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

    def says_max(self, given: Given) -> bool:
        """Whether more is better by a part of the name that is written out."""
        literals = _literal_parts(given.node) if given.node is not None else ()
        return any(part in text for text in literals for part in self.anywhere)

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
    watchers = [one for one in context.migration.once(_watchers) if one.facts is facts]
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


def _watchers(migration: Migration) -> list[_Watcher]:
    """The calls that leave the direction to the callback, each once."""
    known: dict[tuple[cst.Call, str | None], _Watcher] = {}
    for made in migration.once(watching).all():
        watcher = _watcher(made)
        if watcher is None:
            continue
        key = watcher.call, watcher.keyword
        others = known[key].monitors if key in known else ()
        known[key] = replace(watcher, monitors=(*others, *watcher.monitors))
    return list(known.values())


def _watcher(made: Construction) -> _Watcher | None:
    """None where an object watches nothing that can be seen, or its direction is passed."""
    watched, mode = made.named.get("monitor"), made.named.get("mode")
    if watched is None or (mode is not None and mode.node is not None and not _is_auto(mode.node)):
        return None
    if mode is not None and mode.node is None and not made.steps:
        return None  # Whatever makes an object may pass it.
    hidden = made.hidden if mode is None else mode.node is None
    if mode is not None and mode.node is not None:
        return _replaced(made, watched, mode.node)
    for place, (call, facts) in reversed([*enumerate(made.calls)]):
        monitor = _said(call, "monitor", made)
        if monitor is None:
            continue
        later = made.steps[place:]
        keyword = None if any("mode" in parameters_of(step.method.node) for step in later) else "mode"
        return _Watcher(made.base, call, facts, (Given(monitor, facts),), monitor, None, keyword, hidden)
    return None


def _said(call: cst.Call, name: str, made: Construction) -> cst.BaseExpression | None:
    """What a call on the way passes for a parameter of Keras's under its name; by place, where it is one of Keras."""
    if call is made.handed:
        said = dict(explicit(arguments_of(call), WATCHERS[names.canonical(made.base)])).get(name)
    else:
        said = keywords(call).get(name)
    return said.value if said is not None else None


def _replaced(made: Construction, watched: Given, mode: cst.BaseExpression) -> _Watcher:
    """The call that passes an `auto`, or whose callee has it as a default."""
    for place, (call, facts) in enumerate(made.calls):
        monitor = _said(call, "monitor", made)
        if monitor is None:
            monitor = next((arg.value for arg in call.args if arg.value is watched.node), None)
        watching = (Given(monitor, facts) if call is made.handed and monitor is not None else watched,)
        if any(arg.value is mode for arg in call.args):
            return _Watcher(made.base, call, facts, watching, monitor, mode)
        callee = made.steps[place].method.node if place < len(made.steps) else None
        for name in parameters_of(callee) if callee is not None else ():
            if callee is not None and default_of(name, callee) is mode:
                return _Watcher(made.base, call, facts, watching, monitor, None, name)
    return _Watcher(made.base, made.call, made.facts, (watched,), None, None, None)


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
    watched = _all_texts(watcher.monitors)
    if watched is not None and all(_is_known(keys.get(text, text), own) for text in watched):
        return
    modes = {judge.mode(text) for text in watched} if watched is not None else set()
    if all(judge.says_max(one) for one in watcher.monitors):
        modes = {"max"}  # whatever the rest of the names is
    code = f"the name {facts.module.code(watcher.monitor)}" if watcher.monitor is not None else "the name"
    new = _written(modes, watcher.monitor, judge, quote)
    if watcher.hidden or new is None or watcher.keyword is None:
        message = (
            f"the old {watcher.title} inferred the direction from the monitored name; Keras 3 asks the metric, and "
            "fails if it has none: pass `mode=`"
        )
        yield CallChange(codes.MONITOR_DIRECTION, watcher.call, message, action="warn")
        return
    edit = (
        Replace(watcher.mode, new)
        if watcher.mode is not None
        else Revision(watcher.call, set=((watcher.keyword, new),))
    )
    message = (
        f"the old {watcher.title} inferred the direction from {code}, and Keras 3 asks the metric, which may differ "
        f"or have none: `{watcher.keyword}={shown(new)}` is the old direction"
    )
    yield CallChange(codes.MONITOR_DIRECTION, watcher.call, message, edit)
    for text in sorted(watched or ()):
        if not _is_doubtful(text, judge.mode(text)):
            continue
        lower, higher, other = ("lower", "higher", "max") if judge.mode(text) == "min" else ("higher", "lower", "min")
        message = (
            f"{text!r} sounds as if {higher} were better, but the old {watcher.title} treated {lower} as better, "
            f"which is kept: write `{watcher.keyword}={_quoted(other, quote)}` if {higher} was meant"
        )
        yield CallChange(codes.MONITOR_DIRECTION, watcher.call, message, action="warn")


def _written(modes: Set[str], monitor: cst.BaseExpression | None, judge: _Judge, quote: str) -> Code | None:
    """The direction, in code; None where it depends on a name that the call does not show."""
    if len(modes) == 1:
        (mode,) = modes
        return (_quoted(mode, quote),)
    if monitor is None or not is_pure(monitor):
        return None
    plain = isinstance(monitor, cst.Name | cst.Attribute | cst.Subscript)
    return judge.code((monitor,) if plain else ("(", monitor, ")"), quote)


def _all_texts(monitors: Sequence[Given]) -> frozenset[str] | None:
    """All that objects watch; None where that may be something else."""
    texts = [_texts(one.node, one.facts) if one.node is not None else None for one in monitors]
    known = [one for one in texts if one is not None]
    return frozenset[str]().union(*known) if len(known) == len(texts) else None


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
