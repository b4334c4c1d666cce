"""Input functions: what an Estimator called in each replica is called once, and returns the global batch.

Measured on TensorFlow 1.15 and 2.9: under `train_distribute` each replica takes the next batch of the one dataset, and
a round in which not every replica gets one is dropped. `.batch(b * replicas, drop_remainder=True)` gives the same
rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
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
    of_numpy,
    passed_as,
    product,
    remainder_of,
    repeated,
    rows_of,
)
from tfmigrate.plan.estimator.choosing import Choosing
from tfmigrate.plan.estimator.passing import Passing
from tfmigrate.plan.estimator.ranks import rankless
from tfmigrate.plan.estimator.reader import Unconvertible
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.program import Module, Unit, last_attribute
from tfmigrate.understand.reaching import named, parameters_of, reaching, settled, value_of
from tfmigrate.understand.values import EstimatorPart, Frame, FunctionValue, Opaque, Site, StrategyObject
from tfmigrate.walk import calls_in, nodes_in, walk
from tfmigrate.written import Written


@dataclass
class _Size:
    """A batch size passed in a call that stays."""

    module: Module
    node: cst.BaseExpression
    count: Written
    roles: set[str] = field(default_factory=set)
    limited: set[str] = field(default_factory=set)


class Inputs:
    """All input functions of one Estimator."""

    def __init__(
        self,
        facts: ProgramFacts,
        drafts: Mapping[Module, Draft],
        strategy: StrategyObject,
        scope: str,
        frame: Frame,
        passing: Passing,
        choosing: Choosing,
        *,
        optional: bool = False,
    ) -> None:
        """`scope` is the strategy's name in `frame`, where the Estimator is made; `optional`: under some condition that
        is the default strategy, whose one replica takes a last batch that is not full."""
        self._facts = facts
        self._drafts = drafts
        self._strategy = strategy
        self._scope = scope
        self._frame = frame
        self._passing = passing
        self._choosing = choosing
        self._optional = optional
        self._batches: dict[cst.Call, Batch] = {}
        self._sizes: dict[cst.BaseExpression, _Size] = {}
        self._scoped: set[cst.Call] = set()
        self._carrier = Carrier(drafts)
        self._numpy: dict[cst.Call, Edit] = {}
        self._few: set[tuple[cst.Call, str]] = set()
        self._uneven: set[tuple[cst.Call, str]] = set()

    # ---- questions ----

    def dataset(self, node: cst.BaseExpression, use: Use, role: str, limited: bool, receiver: Written) -> Written:
        """The dataset that the input function `node`, passed in `use`, stands for. Raises Unconvertible."""
        return self._choosing.of(self._whole(node, use, role, limited, receiver), use.site.frame.module)

    def before(self, node: cst.BaseExpression, source: Site, target: Frame, unit: Unit) -> Written | None:
        """The same dataset just before a unit of another place, for its element_spec; None where it is unknown."""
        whole = self._whole_before(node, source, target, unit)
        return self._choosing.of(whole, target.module) if whole is not None else None

    def _whole(self, node: cst.BaseExpression, use: Use, role: str, limited: bool, receiver: Written) -> Written:
        """As dataset(), with all its features."""
        module = use.site.frame.module
        count = self._count_at(use.site.frame, receiver)
        if isinstance(node, cst.Lambda):
            self._passing.nothing(node, module)
            if not isinstance(node.body, cst.Call):
                raise self._refuse(module, node, "this lambda does not call an input function")
            return self._called(node.body, module, role, limited, use, count)
        partial = self._partial(node, module)
        if partial is not None and partial is node:
            return self._called(partial, module, role, limited, use, count, partial=True)
        part = self._value(module, node)
        if isinstance(part, EstimatorPart) and part.name == "inputs.numpy_input_fn":
            code = of_numpy(part, role, self._drafts[part.site.frame.module].tf)
            if part.node is node:
                return code
            self._numpy[part.node] = Replace(part.node, ("lambda: ", *code.code))
            return Written.of(node, "()")
        if partial is not None:
            inner = self._callee(partial.args[0].value, module)
            self._staying(partial, inner, partial.args[1:], role, limited, use)
            return self._passing.call(Written.at(node), inner, partial.args[1:], role, use.site)
        function = self._callee(node, module)
        if isinstance(function.node, cst.Lambda):
            self._passing.nothing(function.node, function.module)
            body = function.node.body
            if not isinstance(body, cst.Call):
                raise self._refuse(function.module, function.node, "this lambda does not call an input function")
            value = self._value(function.module, body.func)
            if isinstance(value, FunctionValue):
                self._staying(body, value, body.args, role, limited, use)
            else:
                self._sized(function, role, limited, use)
            return Written.of(node, "()")
        open_ = self._sized(function, role, limited, use)
        maker = function.closure.call_node
        if isinstance(node, cst.Call) and maker is node:
            made = self._with_sizes(node, function, open_, role, count, module)
            return self._passing.call(made, function, (), role, use.site)
        if open_ and maker is not None:
            self._pass_sizes(maker, function, open_, role, limited, use)
        return self._passing.call(Written.at(node), function, (), role, use.site)

    def _whole_before(self, node: cst.BaseExpression, source: Site, target: Frame, unit: Unit) -> Written | None:
        """As before(), with all its features."""
        module = source.frame.module
        node, source = self._unnamed(node, source)
        if isinstance(node, cst.Lambda):
            return self._carrier.at(node.body, source, target, unit)
        partial = self._partial(node, module)
        if partial is not None and partial is node:
            carried = [self._carrier.at(arg.value, source, target, unit) for arg in partial.args]
            known = [value for value in carried if value is not None]
            if len(known) < len(carried):
                return None
            sizes = self._sizes
            function, *values = (
                v.apart() if arg.value in sizes else v for arg, v in zip(partial.args, known, strict=True)
            )
            named = [passed_as(arg, value) for arg, value in zip(partial.args[1:], values, strict=True)]
            callee = self._callee(partial.args[0].value, module)
            own = self._passing.arguments(callee, partial.args[1:], "train", Site(target, unit))
            return Written.of(function, "(", Written.joined([*named, *own], ", "), ")")
        function_code = self._carrier.at(node, source, target, unit)
        if function_code is None:
            return None
        plain = isinstance(function_code.tree, cst.Name | cst.Attribute | cst.Call)
        function_code = function_code if plain else Written.of("(", function_code, ")")
        value = self._value(module, node)
        if not isinstance(value, FunctionValue):
            return Written.of(function_code, "()")
        return self._passing.call(function_code, value, (), "train", Site(target, unit))

    def _unnamed(self, node: cst.BaseExpression, source: Site) -> tuple[cst.BaseExpression, Site]:
        """The lambda or functools.partial(...) that a name is bound to, and where that stands."""
        if isinstance(node, cst.Name):
            module = source.frame.module
            scopes = self._drafts[module].scopes
            bindings = reaching(node.value, scopes.by_node[source.frame.function or module.tree], scopes)
            value = value_of(bindings[0]) if len(bindings) == 1 else None
            function = (
                value if isinstance(value, cst.Lambda) else self._partial(value, module) if value is not None else None
            )
            if function is not None and function is value:
                return function, Site(source.frame, bindings[0].unit)
        return node, source

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

    def edits(self) -> Iterator[tuple[Module, Edit]]:
        """What changes in the input functions. Raises Unconvertible."""
        for call, edit in self._numpy.items():
            yield next(m for m in self._facts.modules if call in self._facts.modules[m].values), edit
        for size in self._sizes.values():
            if self._scales(size.roles, size.limited, size.module, size.node):
                yield size.module, Replace(size.node, product(size.node, size.count).code)
        for batch in self._batches.values():
            yield from self._batch_edits(batch)

    def notes(self) -> Iterator[tuple[Module, cst.CSTNode, str]]:
        """What is reported of each batch."""
        for batch in self._batches.values():
            if batch.roles & DISTRIBUTED and (batch.in_place or batch.roles <= DISTRIBUTED):
                how = "the batch was that of one replica; it is the global batch now"
                if not batch.endless and not batch.roles <= DISTRIBUTED:
                    how += "; an incomplete last round was dropped, and is trained on now"
                elif not batch.counted and batch.drops:
                    how += (
                        "; if the data has fewer batches than there are replicas, Keras 3 ends with StopIteration, "
                        f"where the Estimator {'trained no step' if 'train' in batch.roles else 'evaluated nothing'}"
                    )
                if batch.may_end_short:
                    how += (
                        "; where an epoch ended with a batch that is not full, that is filled from the next epoch now"
                        if batch.repeated is not None
                        else "; where a batch that is not full completed the last round, that round is left out now"
                    )
                yield batch.module, batch.call, how
        for size in self._sizes.values():
            if size.roles & DISTRIBUTED:
                yield size.module, size.node, "this batch was that of one replica; it is the global batch now"

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
                message = "this sum of losses is not, or not always, divided by the number of samples in a batch"
                raise Unconvertible(codes.ESTIMATOR_LOSS, module, node, message)

    # ---- the parts ----

    def _value(self, module: Module, node: cst.BaseExpression) -> object:
        return self._facts.modules[module].values.get(node)

    def _refuse(self, module: Module, node: cst.CSTNode, message: str) -> Unconvertible:
        return Unconvertible(codes.ESTIMATOR_INPUT, module, node, message)

    def _callee(self, node: cst.BaseExpression, module: Module) -> FunctionValue:
        value = self._value(module, node)
        if not isinstance(value, FunctionValue) or value.owner is not None:
            raise self._refuse(module, node, f"the input function `{module.code(node)}` cannot be followed")
        return value

    def _partial(self, node: cst.BaseExpression, module: Module) -> cst.Call | None:
        """The functools.partial(...) that a node is or stands for."""
        value = self._value(module, node)
        maker = node if isinstance(node, cst.Call) else value.node if isinstance(value, Opaque) else None
        if isinstance(maker, cst.Call) and maker.args:
            if self._facts.modules[module].symbols.get(maker.func) == "functools.partial":
                return maker
        return None

    def _called(
        self,
        call: cst.Call,
        module: Module,
        role: str,
        limited: bool,
        use: Use,
        count: Written,
        *,
        partial: bool = False,
    ) -> Written:
        """The code of a call that moves to another place, with the batch sizes it passes multiplied."""
        func = call.args[0].value if partial else call.func
        args = call.args[1:] if partial else call.args
        function = self._callee(func, module)
        open_ = self._sized(function, role, limited, use, args)
        own = self._passing.arguments(function, args, role, use.site) if partial else []
        return self._written(func, args, function, open_, role, count, own)

    def _with_sizes(
        self, call: cst.Call, function: FunctionValue, open_: set[str], role: str, count: Written, module: Module
    ) -> Written:
        maker = self._callee(call.func, module)
        return self._written(call.func, call.args, maker, open_, role, count)

    def _written(
        self,
        func: cst.BaseExpression,
        args: Sequence[cst.Arg],
        function: FunctionValue,
        open_: set[str],
        role: str,
        count: Written,
        own: Sequence[Written] = (),
    ) -> Written:
        params = parameters_of(function.node)
        texts = []
        for name, arg in named(args, params):
            scaled = name in open_ and role in DISTRIBUTED
            texts.append(passed_as(arg, product(arg.value, count) if scaled else Written.at(arg.value)))
        return Written.of(func, "(", Written.joined([*texts, *own], ", "), ")")

    def _staying(
        self,
        call: cst.Call,
        function: FunctionValue,
        args: Sequence[cst.Arg],
        role: str,
        limited: bool,
        use: Use,
    ) -> None:
        """A call that stays where it is: the batch sizes that it passes are multiplied there."""
        open_ = self._sized(function, role, limited, use, args)
        self._pass_sizes(call, function, open_, role, limited, use, args)

    def _pass_sizes(
        self,
        call: cst.Call,
        function: FunctionValue,
        open_: set[str],
        role: str,
        limited: bool,
        use: Use,
        args: Sequence[cst.Arg] | None = None,
    ) -> None:
        module = next(m for m in self._facts.modules if call in self._facts.modules[m].values)
        params = parameters_of(function.node if args is not None else self._callee(call.func, module).node)
        for name, arg in named(args if args is not None else call.args, params):
            if name in open_:
                function_round = use.site.frame.function
                inside = function_round is not None and call in set(walk(function_round))
                place = function_round if function_round is not None and inside else module.tree
                known = self._name_in(module, place)
                strategy = self._strategy.node
                # A lambda runs after the strategy is made, as a function does, for the Estimator calls it.
                later = any(call in set(walk(function.body)) for function in module.all_of(cst.Lambda))
                if known is None or (module.position(strategy) > module.position(call) and not later):
                    raise self._refuse(
                        module,
                        arg.value,
                        "the strategy has no name before this line, so its replicas cannot be counted here",
                    )
                self._note_size(module, arg.value, Written.of(f"{known}.num_replicas_in_sync"), role, limited)

    def _sized(
        self,
        function: FunctionValue,
        role: str,
        limited: bool,
        use: Use,
        args: Sequence[cst.Arg] | None = None,
        inside: Set[cst.CSTNode] = frozenset(),
    ) -> set[str]:
        """Note every batch of a function; returns the parameters that are batch sizes and that its caller passes.

        `inside`: the functions that call it, which are being read.
        """
        module = function.module
        inside = inside | {function.node}
        calls = calls_in(function.node.body)
        for call in calls:
            last = last_attribute(call.func)
            if last in TENSORS:
                raise self._refuse(module, call, f"{last}(): under a strategy an input function must return a dataset")
        unranked = rankless(self._facts.modules[module], function)
        if unranked is not None:
            message = (
                "the rank of these features is not known before they are read, and a Keras model asks for it: call "
                "set_shape() on them"
            )
            raise self._refuse(module, unranked, message)
        params = parameters_of(function.node)
        passed = {name for name, _ in named(args or (), params)}
        closure = function.closure.function
        if isinstance(closure, cst.FunctionDef) and function.closure.call_node is not None:
            outer = parameters_of(closure)
            passed |= {name for name, _ in named(function.closure.call_node.args, outer)}
        open_: set[str] = set()
        seen = False
        for call in calls:
            if makes_batches(call):
                seen = True
                open_ |= self._one_batch(function, call, calls, role, limited, passed, use)
        if seen:
            return open_
        for call in calls:
            value = self._value(module, call.func)
            if isinstance(value, FunctionValue) and value.node not in inside and value.owner is None:
                inner = self._sized(value, role, limited, use, call.args, inside)
                below = parameters_of(value.node)
                for name, arg in named(call.args, below):
                    if name in inner:
                        if isinstance(arg.value, cst.Name) and arg.value.value in passed:
                            open_.add(arg.value.value)
                        else:
                            self._inner_size(module, function.node, arg.value, role, limited, use)
                return open_
        raise self._refuse(module, function.node, "no `.batch()` is found in this input function")

    def _inner_size(
        self, module: Module, place: cst.CSTNode, node: cst.BaseExpression, role: str, limited: bool, use: Use
    ) -> None:
        self._note_size(module, node, self._count_in(module, place, use), role, limited)

    def _note_size(self, module: Module, node: cst.BaseExpression, count: Written, role: str, limited: bool) -> None:
        size = self._sizes.setdefault(node, _Size(module, node, count))
        size.roles.add(role)
        if limited:
            size.limited.add(role)

    def _one_batch(
        self,
        function: FunctionValue,
        call: cst.Call,
        calls: list[cst.Call],
        role: str,
        limited: bool,
        passed: set[str],
        use: Use,
    ) -> set[str]:
        module = function.module
        arguments = batch_arguments(call)
        if arguments is None or "batch_size" not in arguments:
            raise self._refuse(module, call, "the batch size cannot be read")
        size = arguments["batch_size"]
        batch = self._batches.get(call)
        if batch is None:
            repeat = repeated(function, call, calls)
            arms = {part for node in nodes_in(function.node.body, cst.If) for part in walk(node)}
            endless = any(is_endless(other) and other not in arms for other in calls)
            batch = self._batches[call] = Batch(module, function.node, call, size, repeat, endless)
        batch.roles.add(role)
        if limited:
            batch.limited.add(role)
        rows = rows_of(self._drafts[module].scopes, calls)
        batch.divides = isinstance(size.value, cst.Integer) and size.value.evaluated_value == 1
        if role in DISTRIBUTED and isinstance(size.value, cst.Integer) and rows is not None:
            batch.counted = True
            batch.divides = batch.divides or rows % max(size.value.evaluated_value, 1) == 0
            if rows // max(size.value.evaluated_value, 1) < MOST_REPLICAS:
                self._few.add((use.call, role))
        number = size.value.evaluated_value if isinstance(size.value, cst.Integer) else 0
        even = batch.endless or number == 1 or (number and rows is not None and rows % number == 0)
        if role == "alone" and not even and remainder_of(call) is None:
            self._uneven.add((use.call, role))
        if role == "predict" and batch.endless:
            raise self._refuse(module, call, "this dataset is infinite, so predict() would never end")
        batch.in_place = batch.in_place or not (isinstance(size.value, cst.Name) and size.value.value in passed)
        asks = batch.in_place or (self._optional and not batch.endless)
        if asks and self._name_in(module, function.node) is None and role in DISTRIBUTED:
            self._scoped.add(use.call)
        if isinstance(size.value, cst.Name) and size.value.value in passed:
            return {size.value.value}
        return set()

    def _batch_edits(self, batch: Batch) -> Iterator[tuple[Module, Edit]]:
        module = batch.module
        scaled = batch.in_place and self._scales(batch.roles, batch.limited, module, batch.call)
        dropped = batch.drops and remainder_of(batch.call) is None
        if not scaled and not (dropped and batch.roles & DISTRIBUTED):
            return
        count = self._count_in(module, batch.place, None)
        drops = Written.of(count, " > 1") if self._optional else Written.of("True")
        size = product(batch.size.value, count) if scaled else Written.at(batch.size.value)
        if batch.repeated is not None:
            assert isinstance(batch.call.func, cst.Attribute)
            times = Written.joined((passed_as(arg, Written.at(arg.value)) for arg in batch.repeated.args), ", ")
            rest = (", drop_remainder=", drops) if dropped else ()
            code = Written.of(batch.call.func.value, ".repeat(", times, ").batch(", size, *rest, ")")
            yield from self._repeated_before(batch, batch.repeated, code)
            return
        arguments = []
        for arg in batch.call.args:
            name = arg.keyword.value if arg.keyword else None
            arguments.append(Argument(arg.value, name, arg, size.code if scaled and arg is batch.size else ()))
        if dropped:
            arguments.append(Argument(drops.text, "drop_remainder"))
        yield module, Arguments(batch.call, tuple(arguments))

    def _repeated_before(self, batch: Batch, repeat: cst.Call, code: Written) -> Iterator[tuple[Module, Edit]]:
        """The edits that put `.repeat(k)` before `.batch(b)`; `code` is both."""
        assert isinstance(repeat.func, cst.Attribute)
        if repeat.func.value is batch.call:
            yield batch.module, Replace(repeat, code.code)
            return
        yield batch.module, Replace(batch.call, code.code)
        lines = [line for line in nodes_in(batch.place, cst.Assign) if line.value is repeat]
        yield batch.module, Remove(lines[0]) if lines else Replace(repeat, (repeat.func.value,))

    def _scales(self, roles: set[str], limited: set[str], module: Module, node: cst.CSTNode) -> bool:
        if not roles & DISTRIBUTED:
            return False
        if (roles - DISTRIBUTED) & limited:
            message = (
                "this input function also feeds an evaluation on one device that counts its batches; give that "
                "evaluation its own"
            )
            raise self._refuse(module, node, message)
        return True

    # ---- the number of replicas ----

    def _name_in(self, module: Module, place: cst.CSTNode) -> str | None:
        """The strategy's name as it is seen in a function, or at the top of a module; None where it is not."""
        site = self._strategy.site
        home = site.frame.function
        if site.frame.module is not module or isinstance(home, cst.Lambda):
            return None
        if home is not None and place is not home and place not in set(walk(home)):
            return None
        small = site.unit.body[0] if isinstance(site.unit, cst.SimpleStatementLine) else None
        target = small.targets[0].target if isinstance(small, cst.Assign) else None
        if not isinstance(small, cst.Assign) or small.value is not self._strategy.node:
            return self._scope if site.frame is self._frame else None
        if not isinstance(target, cst.Name):
            return None
        scopes = self._drafts[module].scopes
        owner = scopes.owner(target.value, scopes.by_node[place])
        return target.value if owner is not None and owner.node is (home or module.tree) else None

    def _count_in(self, module: Module, place: cst.CSTNode, use: Use | None) -> Written:
        """The number of replicas, in a function of a module."""
        known = self._name_in(module, place)
        if known is None:
            if use is not None:
                self._scoped.add(use.call)
            known = f"{self._drafts[module].tf}.distribute.get_strategy()"
        return Written.of(f"{known}.num_replicas_in_sync")

    def _count_at(self, frame: Frame, receiver: Written) -> Written:
        """The number of replicas, where the Estimator is used."""
        if frame is self._frame:
            return Written.of(f"{self._scope}.num_replicas_in_sync")
        return Written.of(receiver, ".distribute_strategy.num_replicas_in_sync")
