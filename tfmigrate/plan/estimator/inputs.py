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
from tfmigrate.plan.change.calls import is_false, is_none, is_true, named_arguments
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Argument, Arguments, Edit, Replace
from tfmigrate.plan.estimator.reader import Unconvertible
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.program import Module, Unit
from tfmigrate.understand.reaching import named, parameters_of, reaching, settled, value_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import EstimatorPart, Frame, FunctionValue, Opaque, Site, StrategyObject
from tfmigrate.walk import walk
from tfmigrate.written import Written

DISTRIBUTED = frozenset({"train", "eval"})
"""Roles of a dataset under the strategy; "alone" (evaluated on one device) and "predict" are the others."""
NUMPY = ("x", "y", "batch_size", "num_epochs", "shuffle", "queue_capacity", "num_threads")
"""Methods of a dataset that do the same to a batch of any size."""
ON_BATCHES = frozenset(
    {
        "repeat", "map", "shuffle", "filter", "unbatch", "flat_map", "interleave", "apply", "batch", "window", "skip",
        "take", "shard", "concatenate", "padded_batch", "enumerate", "zip", "scan", "reduce",
    }
)  # fmt: skip
RESIZES = frozenset(
    {"repeat", "concatenate", "interleave", "flat_map", "filter", "shard", "take", "skip", "window", "unbatch", "zip"}
)
"""Methods of a dataset after which it has another number of rows."""
MOST_REPLICAS = 16
"""As many GPUs as one machine has at most."""
TENSORS = frozenset({"make_one_shot_iterator", "make_initializable_iterator", "get_next", "map_and_batch"})


@dataclass
class _Batch:
    """One `.batch(...)` of an input function, and all that reads it."""

    module: Module
    place: cst.FunctionDef | cst.Lambda
    call: cst.Call
    size: cst.Arg
    repeated: cst.Call | None
    """`.batch(b).repeat(k)`: the repeat."""
    endless: bool = False
    """Whether it is fed by a `.repeat()` without end, so that there is no last round."""
    counted: bool = False
    """Whether its rows and its size are written out, so that it is known if they are fewer batches than replicas."""
    in_place: bool = False
    """Whether its size is multiplied here, and not by the callers."""
    roles: set[str] = field(default_factory=set)
    limited: set[str] = field(default_factory=set)
    """The roles that read only so many batches."""


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
        self._optional = optional
        self._batches: dict[cst.Call, _Batch] = {}
        self._sizes: dict[cst.BaseExpression, _Size] = {}
        self._scoped: set[cst.Call] = set()
        self._carrier = Carrier(drafts)
        self._numpy: dict[cst.Call, Edit] = {}
        self._few: set[tuple[cst.Call, str]] = set()

    # ---- questions ----

    def dataset(self, node: cst.BaseExpression, use: Use, role: str, limited: bool, receiver: Written) -> Written:
        """The dataset that the input function `node`, passed in `use`, stands for. Raises Unconvertible."""
        module = use.site.frame.module
        count = self._count_at(use.site.frame, receiver)
        if isinstance(node, cst.Lambda):
            self._no_parameters(node, module)
            if not isinstance(node.body, cst.Call):
                raise self._refuse(module, node, "this lambda does not call an input function")
            return self._called(node.body, module, role, limited, use, count)
        partial = self._partial(node, module)
        if partial is not None and partial is node:
            return self._called(partial, module, role, limited, use, count, partial=True)
        part = self._value(module, node)
        if isinstance(part, EstimatorPart) and part.name == "inputs.numpy_input_fn":
            code = self._from_numpy(part, role, module)
            if part.node is node:
                return code
            self._numpy[part.node] = Replace(part.node, ("lambda: ", *code.code))
            return Written.of(node, "()")
        if partial is not None:
            self._staying(partial, self._callee(partial.args[0].value, module), partial.args[1:], role, limited, use)
            return Written.of(node, "()")
        function = self._callee(node, module)
        if isinstance(function.node, cst.Lambda):
            body = function.node.body
            if not isinstance(body, cst.Call):
                raise self._refuse(function.module, function.node, "this lambda does not call an input function")
            value = self._value(function.module, body.func)
            if isinstance(value, FunctionValue):
                self._staying(body, value, body.args, role, limited, use)
            else:
                self._sized(function, role, limited, use)
            return Written.of(node, "()")
        self._no_parameters(function.node, function.module)
        open_ = self._sized(function, role, limited, use)
        maker = function.closure.call_node
        if isinstance(node, cst.Call) and maker is node:
            return Written.of(self._with_sizes(node, function, open_, role, count, module), "()")
        if open_ and maker is not None:
            self._pass_sizes(maker, function, open_, role, limited, use)
        return Written.of(node, "()")

    def before(self, node: cst.BaseExpression, source: Site, target: Frame, unit: Unit) -> Written | None:
        """The same dataset just before a unit of another place, for its element_spec; None where it is unknown."""
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
            named = [_passed_as(arg, value) for arg, value in zip(partial.args[1:], values, strict=True)]
            return Written.of(function, "(", Written.joined(named, ", "), ")")
        function_code = self._carrier.at(node, source, target, unit)
        if function_code is None:
            return None
        plain = isinstance(function_code.tree, cst.Name | cst.Attribute | cst.Call)
        return Written.of(function_code, "()") if plain else Written.of("(", function_code, ")()")

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

    def edits(self) -> Iterator[tuple[Module, Edit]]:
        """What changes in the input functions. Raises Unconvertible."""
        for call, edit in self._numpy.items():
            yield next(m for m in self._facts.modules if call in self._facts.modules[m].values), edit
        for size in self._sizes.values():
            if self._scales(size.roles, size.limited, size.module, size.node):
                yield size.module, Replace(size.node, _product(size.node, size.count).code)
        for batch in self._batches.values():
            yield from self._batch_edits(batch)

    def notes(self) -> Iterator[tuple[Module, cst.CSTNode, str]]:
        """What is reported of each batch."""
        for batch in self._batches.values():
            if batch.roles & DISTRIBUTED and (batch.in_place or batch.roles <= DISTRIBUTED):
                how = "the batch was that of one replica; it is the global batch now"
                if not batch.endless and not batch.roles <= DISTRIBUTED:
                    how += "; an incomplete last round was dropped, and is trained on now"
                elif not batch.counted and self._drops(batch):
                    how += (
                        "; if the data has fewer batches than there are replicas, Keras 3 ends with StopIteration, "
                        f"where the Estimator {'trained no step' if 'train' in batch.roles else 'evaluated nothing'}"
                    )
                yield batch.module, batch.call, how
        for size in self._sizes.values():
            if size.roles & DISTRIBUTED:
                yield size.module, size.node, "this batch was that of one replica; it is the global batch now"

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

    def _no_parameters(self, node: cst.FunctionDef | cst.Lambda, module: Module) -> None:
        params = node.params
        needed = [p.name.value for p in (*params.params, *params.kwonly_params) if p.default is None]
        if needed:
            raise self._refuse(module, node, f"the Estimator passes `{needed[0]}` to this input function by itself")

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
        return self._written(func, args, function, open_, role, count)

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
    ) -> Written:
        params = parameters_of(function.node)
        texts = []
        for name, arg in named(args, params):
            scaled = name in open_ and role in DISTRIBUTED
            texts.append(_passed_as(arg, _product(arg.value, count) if scaled else Written.at(arg.value)))
        return Written.of(func, "(", Written.joined(texts, ", "), ")")

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
                if known is None or module.position(strategy) > module.position(call):
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
        calls = [node for node in walk(function.node.body) if isinstance(node, cst.Call)]
        for call in calls:
            last = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
            if last in TENSORS:
                raise self._refuse(module, call, f"{last}(): under a strategy an input function returns a dataset")
        params = parameters_of(function.node)
        passed = {name for name, _ in named(args or (), params)}
        closure = function.closure.function
        if isinstance(closure, cst.FunctionDef) and function.closure.call_node is not None:
            outer = parameters_of(closure)
            passed |= {name for name, _ in named(function.closure.call_node.args, outer)}
        open_: set[str] = set()
        seen = False
        for call in calls:
            if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("batch", "padded_batch"):
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
        arguments = named_arguments(call, ("batch_size", "drop_remainder", "num_parallel_calls"))
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "padded_batch":
            arguments = named_arguments(call, ("batch_size", "padded_shapes", "padding_values", "drop_remainder"))
        if arguments is None or "batch_size" not in arguments:
            raise self._refuse(module, call, "the batch size cannot be read")
        size = arguments["batch_size"]
        batch = self._batches.get(call)
        if batch is None:
            repeated = self._after(function, call, calls)
            arms = {part for node in walk(function.node.body) if isinstance(node, cst.If) for part in walk(node)}
            endless = any(_is_endless(other) and other not in arms for other in calls)
            batch = self._batches[call] = _Batch(module, function.node, call, size, repeated, endless)
        batch.roles.add(role)
        if limited:
            batch.limited.add(role)
        rows = _rows(self._drafts[module].scopes, calls)
        if role in DISTRIBUTED and isinstance(size.value, cst.Integer) and rows is not None:
            batch.counted = True
            if rows // max(size.value.evaluated_value, 1) < MOST_REPLICAS:
                self._few.add((use.call, role))
        if role == "predict" and batch.endless:
            raise self._refuse(module, call, "this dataset is infinite, so predict() would never end")
        batch.in_place = batch.in_place or not (isinstance(size.value, cst.Name) and size.value.value in passed)
        asks = batch.in_place or (self._optional and not batch.endless)
        if asks and self._name_in(module, function.node) is None and role in DISTRIBUTED:
            self._scoped.add(use.call)
        if isinstance(size.value, cst.Name) and size.value.value in passed:
            return {size.value.value}
        return set()

    def _after(self, function: FunctionValue, batch: cst.Call, calls: list[cst.Call]) -> cst.Call | None:
        """What is done to the batches; a repeat() at once is returned. Raises Unconvertible for what counts them."""
        module = function.module
        repeated = None
        inside = set(walk(batch))
        carriers = _carriers(function.node, batch)
        for call in calls:
            if call in inside or not isinstance(call.func, cst.Attribute):
                continue
            name = call.func.attr.value
            around = batch in set(walk(call.func.value))
            carried = any(isinstance(part, cst.Name) and part.value in carriers for part in walk(call.func.value))
            later = around or (carried and module.position(call) > module.position(batch))
            if not later or name not in ON_BATCHES:
                continue
            if not around and any(call in set(walk(arg)) for arg in batch.args):
                continue
            if name == "repeat" and call.func.value is batch and "drop_remainder" not in {
                arg.keyword.value for arg in batch.args if arg.keyword
            }:  # fmt: skip
                repeated = call
                continue
            raise self._refuse(
                module,
                call,
                f"{name}() works on the batches of each replica; put it before `.batch()` if the result is the same",
            )
        return repeated

    def _batch_edits(self, batch: _Batch) -> Iterator[tuple[Module, Edit]]:
        module = batch.module
        scaled = batch.in_place and self._scales(batch.roles, batch.limited, module, batch.call)
        dropped = self._drops(batch) and _remainder(batch.call) is None
        if not scaled and not (dropped and batch.roles & DISTRIBUTED):
            return
        count = self._count_in(module, batch.place, None)
        drops = Written.of(count, " > 1") if self._optional else Written.of("True")
        size = _product(batch.size.value, count) if scaled else Written.at(batch.size.value)
        if batch.repeated is not None:
            assert isinstance(batch.call.func, cst.Attribute)
            times = Written.joined((_passed_as(arg, Written.at(arg.value)) for arg in batch.repeated.args), ", ")
            rest = (", drop_remainder=", drops) if dropped else ()
            code = Written.of(batch.call.func.value, ".repeat(", times, ").batch(", size, *rest, ")")
            yield module, Replace(batch.repeated, code.code)
            return
        arguments = []
        for arg in batch.call.args:
            name = arg.keyword.value if arg.keyword else None
            arguments.append(Argument(arg.value, name, arg, size.code if scaled and arg is batch.size else ()))
        if dropped:
            arguments.append(Argument(drops.text, "drop_remainder"))
        yield module, Arguments(batch.call, tuple(arguments))

    def _drops(self, batch: _Batch) -> bool:
        """Whether a round in which not every replica gets a batch is left out of the dataset."""
        remainder = _remainder(batch.call)
        return not batch.endless and batch.roles <= DISTRIBUTED and (remainder is None or not is_false(remainder))

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

    # ---- numpy_input_fn ----

    def _from_numpy(self, part: EstimatorPart, role: str, at: Module) -> Written:
        module = part.site.frame.module
        arguments = named_arguments(part.node, NUMPY)
        if arguments is None or "x" not in arguments or role in DISTRIBUTED:
            message = "numpy_input_fn returns tensors, which an Estimator under a strategy does not take"
            raise self._refuse(module, part.node, message)
        data = Written.at(arguments["x"].value)
        y = arguments.get("y")
        if y is not None and not is_none(y.value):
            data = Written.of("(", data, ", ", y.value, ")")
        links = [Written.of(f"{self._drafts[module].tf}.data.Dataset.from_tensor_slices(", data, ")")]
        shuffle = arguments.get("shuffle")
        if shuffle is not None and is_true(shuffle.value):
            capacity = arguments["queue_capacity"].value if "queue_capacity" in arguments else "1000"
            links.append(Written.of(".shuffle(", capacity, ")"))
        elif shuffle is not None and not is_false(shuffle.value):
            raise self._refuse(module, shuffle.value, "`shuffle=` is neither True nor False")
        epochs = arguments.get("num_epochs")
        if epochs is not None and is_none(epochs.value):
            if role == "predict":
                raise self._refuse(module, epochs.value, "this dataset is infinite, so predict() would never end")
            links.append(Written.of(".repeat()"))
        elif epochs is not None and module.code(epochs.value) != "1":
            links.append(Written.of(".repeat(", epochs.value, ")"))
        size = arguments["batch_size"].value if "batch_size" in arguments else "128"
        return Written.of(*links, ".batch(", size, ")")


def _rows(scopes: Scopes, calls: Sequence[cst.Call]) -> int | None:
    """How many rows a dataset has whose arrays are written out as lists; None where that is not known."""
    slices = [call for call in calls if _method(call) == "from_tensor_slices" and len(call.args) == 1]
    if len(slices) != 1 or any(_method(call) in RESIZES for call in calls):
        return None
    node = settled(slices[0].args[0].value, scopes)
    seen = {node}
    while isinstance(node, cst.Tuple) and node.elements:
        node = settled(node.elements[0].value, scopes)
        if node in seen:
            return None
        seen.add(node)
    return len(node.elements) if isinstance(node, cst.List) else None


def _remainder(call: cst.Call) -> cst.BaseExpression | None:
    """What a `.batch(...)` is given as its `drop_remainder`, by keyword."""
    return next((arg.value for arg in call.args if arg.keyword and arg.keyword.value == "drop_remainder"), None)


def _method(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _carriers(function: cst.FunctionDef | cst.Lambda, batch: cst.Call) -> set[str]:
    """The variables of a function that may hold the batches, or what is made of them."""
    names: set[str] = set()
    assigns = [node for node in walk(function.body) if isinstance(node, cst.Assign | cst.AugAssign | cst.AnnAssign)]
    while True:
        before = len(names)
        for assign in assigns:
            value = assign.value
            parts = set(walk(value)) if value is not None else set()
            if batch in parts or any(isinstance(part, cst.Name) and part.value in names for part in parts):
                targets = (
                    [written.target for written in assign.targets]
                    if isinstance(assign, cst.Assign)
                    else [assign.target]
                )
                names |= {name.value for target in targets for name in walk(target) if isinstance(name, cst.Name)}
        if len(names) == before:
            return names


def _is_endless(call: cst.Call) -> bool:
    """`.repeat()`"""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "repeat":
        return False
    return not call.args or is_none(call.args[0].value) or call.args[0].value.deep_equals(cst.parse_expression("-1"))


def _passed_as(arg: cst.Arg, value: Written) -> Written:
    """A value as the argument that it was of a call."""
    return Written.of(f"{arg.keyword.value}=" if arg.keyword else arg.star, value)


def _product(size: cst.BaseExpression, count: Written) -> Written:
    """The batch of all replicas."""
    if isinstance(size, cst.Integer) and size.evaluated_value == 1:
        return count
    simple = isinstance(size, cst.Name | cst.Integer | cst.Call | cst.Attribute | cst.Subscript) or size.lpar
    return Written.of(size, " * ", count) if simple else Written.of("(", size, ") * ", count)
