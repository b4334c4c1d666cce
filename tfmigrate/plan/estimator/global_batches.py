"""The batches of input functions, which become those of all replicas: what was read by each is read once.

Measured on TensorFlow 1.15 and 2.9: under `train_distribute` each replica takes the next batch of the one dataset, and
a round in which not every replica gets one is dropped. `.batch(b * replicas, drop_remainder=True)` gives the same
rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_true
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Argument, Arguments, Edit, Remove, Replace
from tfmigrate.plan.estimator.batches import (
    DISTRIBUTED,
    MOST_REPLICAS,
    TENSORS,
    Batch,
    batch_arguments,
    is_endless,
    makes_batches,
    passed_as,
    product,
    remainder_of,
    repeated,
    rows_of,
)
from tfmigrate.plan.estimator.ranks import rankless
from tfmigrate.plan.estimator.reader import Unconvertible, input_refused
from tfmigrate.plan.estimator.replicas import Replicas
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import named, parameters_of, settled
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import calls_in, nodes_in, walk
from tfmigrate.written import Written


@dataclass(frozen=True)
class Feed:
    """What an input function is read for."""

    use: Use
    """The call of the Estimator that reads it."""
    role: str
    """ "train", "eval", "alone" or "predict": see DISTRIBUTED."""
    limited: bool
    """Whether that takes a number of batches, and not all."""
    receiver: Written
    """What the Estimator is called there."""

    @property
    def is_distributed(self) -> bool:
        return self.role in DISTRIBUTED


@dataclass
class _Size:
    """A batch size passed in a call that stays."""

    module: Module
    node: cst.BaseExpression
    count: Written
    roles: set[str] = field(default_factory=set)
    limited: set[str] = field(default_factory=set)


class GlobalBatches:
    """All batches of the input functions of one Estimator."""

    def __init__(
        self, facts: ProgramFacts, drafts: Mapping[Module, Draft], replicas: Replicas, *, optional: bool = False
    ) -> None:
        """`optional`: under some condition the strategy is the default one, whose one replica takes a last batch that
        is not full."""
        self._facts = facts
        self._drafts = drafts
        self._replicas = replicas
        self._optional = optional
        self._batches: dict[cst.Call, Batch] = {}
        self._sizes: dict[cst.BaseExpression, _Size] = {}
        self._scoped: set[cst.Call] = set()
        self._few: set[tuple[cst.Call, str]] = set()
        self._uneven: set[tuple[cst.Call, str]] = set()

    # ---- questions ----

    def needs_scope(self, use: Use) -> bool:
        """Whether a use must stand in the strategy's scope, because an input function asks for the strategy."""
        return use.call in self._scoped

    def may_be_empty(self, use: Use, role: str) -> bool:
        """Whether the data of a use is known to be so little that more replicas than it has batches are at hand: then
        the Estimator did nothing, and Keras fails."""
        return (use.call, role) in self._few

    def may_be_uneven(self, use: Use, role: str) -> bool:
        """Whether an evaluation may end with a batch that is not full."""
        return (use.call, role) in self._uneven

    def is_size(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is passed for a batch size, in a call that stays."""
        return node in self._sizes

    def edits(self) -> Iterator[tuple[Module, Edit]]:
        """What changes where the batches are made, and their sizes passed. Raises Unconvertible."""
        for size in self._sizes.values():
            if self._scales(size.roles, size.limited, size.module, size.node):
                yield size.module, Replace(size.node, product(size.node, size.count).code)
        for batch in self._batches.values():
            yield from self._batch_edits(batch)

    def notes(self) -> Iterator[tuple[Module, cst.CSTNode, str]]:
        """What is reported of each batch."""
        for batch in self._batches.values():
            if batch.roles & DISTRIBUTED and (batch.in_place or batch.roles <= DISTRIBUTED):
                how = "this was each replica's batch; it is now the global batch"
                if not batch.endless and not batch.roles <= DISTRIBUTED:
                    how += "; an incomplete last round was dropped and is now trained on"
                elif not batch.counted and batch.drops:
                    how += (
                        "; if the data has fewer batches than there are replicas, Keras 3 ends with StopIteration, "
                        f"where the Estimator {'trained no step' if 'train' in batch.roles else 'evaluated nothing'}"
                    )
                if batch.may_end_short:
                    how += (
                        "; a partial batch at the end of an epoch is now filled from the next epoch"
                        if batch.repeated is not None
                        else "; a last round completed by a partial batch is now left out"
                    )
                yield batch.module, batch.call, how
        for size in self._sizes.values():
            if size.roles & DISTRIBUTED:
                yield size.module, size.node, "this was each replica's batch; it is now the global batch"

    def check_divisor(self, module: Module, node: cst.BaseExpression) -> None:
        """Refuse where a sum of losses is divided by something other than the batch of each replica."""
        scopes = self._drafts[module].scopes
        divisor = settled(node, scopes)
        for batch in self._batches.values():
            if "train" not in batch.roles:
                continue
            own = settled(batch.size.value, self._drafts[batch.module].scopes)
            number = isinstance(divisor, cst.Integer) and divisor.deep_equals(own)
            same = number or (module is batch.module and divisor is own and not isinstance(own, cst.Name))
            remainder = remainder_of(batch.call)
            full = batch.endless or batch.drops or (remainder is not None and is_true(remainder.value))
            if not same or not full:
                message = "this sum of losses is not always divided by the number of samples in a batch"
                raise Unconvertible(codes.ESTIMATOR_LOSS, module, node, message)

    # ---- reading ----

    def read(
        self,
        function: FunctionValue,
        feed: Feed,
        args: Sequence[cst.Arg] = (),
        inside: Set[cst.CSTNode] = frozenset(),
    ) -> set[str]:
        """Note every batch of a function that is passed `args`; returns those parameters that are batch sizes and are
        passed. Raises Unconvertible.

        `inside`: the functions that call it, which are being read.
        """
        module = function.module
        calls = calls_in(function.node.body)
        self._check_that_it_gives_datasets(function, calls)
        passed = _passed(function, args)
        batching = [call for call in calls if makes_batches(call)]
        if batching:
            return {name for call in batching for name in self._read_batch(function, call, calls, feed, passed)}
        within = {*inside, function.node}
        for call in calls:
            inner = self._facts.modules[module].values.get(call.func)
            if isinstance(inner, FunctionValue) and inner.node not in within and inner.owner is None:
                sizes = self.read(inner, feed, call.args, within)
                given = [arg.value for name, arg in named(call.args, parameters_of(inner.node)) if name in sizes]
                return self._pass_through(function, given, feed, passed)
        raise input_refused(module, function.node, "no `.batch()` was found in this input function")

    def _pass_through(
        self, function: FunctionValue, sizes: Sequence[cst.BaseExpression], feed: Feed, passed: Set[str]
    ) -> set[str]:
        """A function passes batch sizes on, in a call that stays; returns those that it is passed itself."""
        own: set[str] = set()
        for node in sizes:
            if isinstance(node, cst.Name) and node.value in passed:
                own.add(node.value)
            else:
                self._note_asking(function, feed)
                self._note_size(function.module, node, self._replicas.number_in(function.module, function.node), feed)
        return own

    def _check_that_it_gives_datasets(self, function: FunctionValue, calls: Sequence[cst.Call]) -> None:
        module = function.module
        for call in calls:
            last = last_attribute(call.func)
            if last in TENSORS:
                raise input_refused(module, call, f"{last}(): under a strategy an input function must return a dataset")
        unranked = rankless(self._facts.modules[module], function)
        if unranked is not None:
            message = (
                "the rank of these features is unknown before they are read, but a Keras model needs it: call "
                "set_shape() on them"
            )
            raise input_refused(module, unranked, message)

    def _read_batch(
        self, function: FunctionValue, call: cst.Call, calls: Sequence[cst.Call], feed: Feed, passed: Set[str]
    ) -> set[str]:
        """Note a batch, and what is known of the number of batches; returns the parameter that is its size, if any."""
        batch = self._batches.get(call)
        if batch is None:
            batch = self._batches[call] = _batch_of(function, call, calls)
        batch.roles.add(feed.role)
        if feed.limited:
            batch.limited.add(feed.role)
        self._compare(batch, rows_of(self._drafts[function.module].scopes, calls), feed)
        if feed.role == "predict" and batch.endless:
            raise input_refused(function.module, call, "this dataset is infinite, so predict() would never end")
        size = batch.size.value
        parameter = size.value if isinstance(size, cst.Name) and size.value in passed else None
        batch.in_place = batch.in_place or parameter is None
        asks = batch.in_place or (self._optional and not batch.endless)
        if asks and feed.is_distributed:
            self._note_asking(function, feed)
        return set() if parameter is None else {parameter}

    def _compare(self, batch: Batch, rows: int | None, feed: Feed) -> None:
        """Note how many batches a number of rows makes, None where that is not known."""
        batch.divides = batch.number == 1 or (feed.is_distributed and batch.is_filled_by(rows))
        if feed.is_distributed and batch.number is not None and rows is not None:
            batch.counted = True
            if rows // max(batch.number, 1) < MOST_REPLICAS:
                self._few.add((feed.use.call, feed.role))
        even = batch.endless or batch.is_filled_by(rows)
        if feed.role == "alone" and not even and remainder_of(batch.call) is None:
            self._uneven.add((feed.use.call, feed.role))

    def pass_on(self, call: cst.Call, given: Iterable[cst.Arg], feed: Feed) -> None:
        """The arguments of a call, which stays where it is, are batch sizes: they are multiplied there."""
        module = self._facts.module_of(call)
        around = feed.use.site.frame.function
        place = around if around is not None and call in set(walk(around)) else module.tree
        for arg in given:
            # A lambda runs after the strategy is made, as a function does, for the Estimator calls it.
            later = any(call in set(walk(function.body)) for function in module.all_of(cst.Lambda))
            early = module.position(self._replicas.strategy.node) > module.position(call) and not later
            if early or self._replicas.name_in(module, place) is None:
                message = "the strategy has no name before this line, so its replicas cannot be counted here"
                raise input_refused(module, arg.value, message)
            self._note_size(module, arg.value, self._replicas.number_in(module, place), feed)

    def _note_size(self, module: Module, node: cst.BaseExpression, count: Written, feed: Feed) -> None:
        size = self._sizes.setdefault(node, _Size(module, node, count))
        size.roles.add(feed.role)
        if feed.limited:
            size.limited.add(feed.role)

    def _note_asking(self, function: FunctionValue, feed: Feed) -> None:
        """A function asks for the number of replicas: in the scope, where the strategy has no name in it."""
        if self._replicas.name_in(function.module, function.node) is None:
            self._scoped.add(feed.use.call)

    # ---- the edits ----

    def _batch_edits(self, batch: Batch) -> Iterator[tuple[Module, Edit]]:
        module = batch.module
        scaled = batch.in_place and self._scales(batch.roles, batch.limited, module, batch.call)
        dropped = batch.drops and remainder_of(batch.call) is None
        if not scaled and not (dropped and batch.roles & DISTRIBUTED):
            return
        count = self._replicas.number_in(module, batch.place)
        drops = Written.of(count, " > 1") if self._optional else Written.of("True")
        size = product(batch.size.value, count) if scaled else Written.at(batch.size.value)
        if batch.repeated is not None:
            assert isinstance(batch.call.func, cst.Attribute)
            times = Written.joined((passed_as(arg, Written.at(arg.value)) for arg in batch.repeated.args), ", ")
            rest = (", drop_remainder=", drops) if dropped else ()
            code = Written.of(batch.call.func.value, ".repeat(", times, ").batch(", size, *rest, ")")
            yield from _repeated_before(batch, batch.repeated, code)
            return
        arguments = []
        for arg in batch.call.args:
            name = arg.keyword.value if arg.keyword else None
            arguments.append(Argument(arg.value, name, arg, size.code if scaled and arg is batch.size else ()))
        if dropped:
            arguments.append(Argument(drops.text, "drop_remainder"))
        yield module, Arguments(batch.call, tuple(arguments))

    def _scales(self, roles: set[str], limited: set[str], module: Module, node: cst.CSTNode) -> bool:
        if not roles & DISTRIBUTED:
            return False
        if (roles - DISTRIBUTED) & limited:
            message = (
                "this input function also feeds an evaluation with a step count on one device; give that evaluation "
                "its own"
            )
            raise input_refused(module, node, message)
        return True


def _passed(function: FunctionValue, args: Sequence[cst.Arg]) -> set[str]:
    """The parameters, its own and those of the function that made it, that an input function is passed."""
    names = {name for name, _ in named(args, parameters_of(function.node))}
    maker, call = function.closure.function, function.closure.call_node
    if isinstance(maker, cst.FunctionDef) and call is not None:
        names |= {name for name, _ in named(call.args, parameters_of(maker))}
    return names


def _batch_of(function: FunctionValue, call: cst.Call, calls: Sequence[cst.Call]) -> Batch:
    """A batch, as it is made. Raises Unconvertible."""
    size = (batch_arguments(call) or {}).get("batch_size")
    if size is None:
        raise input_refused(function.module, call, "the batch size cannot be read")
    repeat = repeated(function, call, calls)
    arms = {part for node in nodes_in(function.node.body, cst.If) for part in walk(node)}
    endless = any(is_endless(other) and other not in arms for other in calls)
    return Batch(function.module, function.node, call, size, repeat, endless)


def _repeated_before(batch: Batch, repeat: cst.Call, code: Written) -> Iterator[tuple[Module, Edit]]:
    """The edits that put `.repeat(k)` before `.batch(b)`; `code` is both."""
    assert isinstance(repeat.func, cst.Attribute)
    if repeat.func.value is batch.call:
        yield batch.module, Replace(repeat, code.code)
        return
    yield batch.module, Replace(batch.call, code.code)
    lines = [line for line in nodes_in(batch.place, cst.Assign) if line.value is repeat]
    yield batch.module, Remove(lines[0]) if lines else Replace(repeat, (repeat.func.value,))
