"""Input functions: what an Estimator called in each replica is called once, and returns the global batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Replace
from tfmigrate.plan.estimator.batches import of_numpy, passed_as, product
from tfmigrate.plan.estimator.choosing import Choosing
from tfmigrate.plan.estimator.global_batches import Feed, GlobalBatches
from tfmigrate.plan.estimator.passing import Passing
from tfmigrate.plan.estimator.reader import input_refused
from tfmigrate.plan.estimator.replicas import Replicas
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import named, parameters_of, reaching, value_of
from tfmigrate.understand.values import EstimatorPart, Frame, FunctionValue, Opaque, Site
from tfmigrate.written import Written


class Inputs:
    """All input functions of one Estimator."""

    def __init__(
        self,
        facts: ProgramFacts,
        drafts: Mapping[Module, Draft],
        replicas: Replicas,
        passing: Passing,
        choosing: Choosing,
        *,
        optional: bool = False,
    ) -> None:
        """`optional`: see GlobalBatches."""
        self._facts = facts
        self._drafts = drafts
        self._replicas = replicas
        self._passing = passing
        self._choosing = choosing
        self.batches = GlobalBatches(facts, drafts, replicas, optional=optional)
        self._carrier = Carrier(drafts)
        self._numpy: dict[cst.Call, Edit] = {}

    # ---- questions ----

    def dataset(self, node: cst.BaseExpression, feed: Feed) -> Written:
        """The dataset that the input function `node` stands for, where it is passed. Raises Unconvertible."""
        return self._choosing.of(self._whole(node, feed), feed.use.site.frame.module)

    def before(self, node: cst.BaseExpression, source: Site, target: Frame, unit: Unit) -> Written | None:
        """The same dataset just before a unit of another place, for its element_spec; None where it is unknown."""
        whole = self._whole_before(node, source, target, unit)
        return self._choosing.of(whole, target.module) if whole is not None else None

    def edits(self) -> Iterator[tuple[Module, Edit]]:
        """What changes in the input functions. Raises Unconvertible."""
        for call, edit in self._numpy.items():
            yield self._facts.module_of(call), edit
        yield from self.batches.edits()

    def _whole(self, node: cst.BaseExpression, feed: Feed) -> Written:
        """As dataset(), with all its features."""
        site = feed.use.site
        module = site.frame.module
        if isinstance(node, cst.Lambda):
            call = self._called_in(node, module)
            function = self._callee(call.func, module)
            sizes = self.batches.read(function, feed, call.args)
            return _call(call.func, self._moved(call.args, function, sizes, feed))
        partial = self._partial(node, module)
        if partial is not None:
            return self._of_partial(node, partial, feed)
        part = self._value(module, node)
        if isinstance(part, EstimatorPart) and part.name == "inputs.numpy_input_fn":
            code = of_numpy(part, feed.role, self._drafts[part.site.frame.module].tf)
            if part.node is node:
                return code
            self._numpy[part.node] = Replace(part.node, ("lambda: ", *code.code))
            return Written.of(node, "()")
        function = self._callee(node, module)
        if isinstance(function.node, cst.Lambda):
            self._read_lambda(function, function.node, feed)
            return Written.of(node, "()")
        sizes = self.batches.read(function, feed)
        maker = function.closure.call_node
        made = Written.at(node)
        if isinstance(node, cst.Call) and maker is node:
            maker_function = self._callee(node.func, module)
            made = _call(node.func, self._moved(node.args, maker_function, sizes, feed))
        elif sizes and maker is not None:
            home = self._facts.module_of(maker)
            self._pass_on(maker, maker.args, self._callee(maker.func, home), sizes, feed)
        return self._passing.call(made, function, (), feed.role, site)

    def _of_partial(self, node: cst.BaseExpression, partial: cst.Call, feed: Feed) -> Written:
        """The dataset of an input function that functools.partial() makes, where `node` stands or further up."""
        site = feed.use.site
        function, args = self._callee(partial.args[0].value, site.frame.module), partial.args[1:]
        sizes = self.batches.read(function, feed, args)
        if partial is node:
            own = self._passing.arguments(function, args, feed.role, site)
            return _call(partial.args[0].value, [*self._moved(args, function, sizes, feed), *own])
        self._pass_on(partial, args, function, sizes, feed)
        return self._passing.call(Written.at(node), function, args, feed.role, site)

    def _read_lambda(self, function: FunctionValue, node: cst.Lambda, feed: Feed) -> None:
        """Note the batches of an input function that is a lambda further up."""
        call = self._called_in(node, function.module)
        value = self._value(function.module, call.func)
        if isinstance(value, FunctionValue):
            sizes = self.batches.read(value, feed, call.args)
            self._pass_on(call, call.args, value, sizes, feed)
        else:
            self.batches.read(function, feed)

    def _called_in(self, node: cst.Lambda, module: Module) -> cst.Call:
        """The call that a lambda consists of. Raises Unconvertible."""
        self._passing.nothing(node, module)
        if not isinstance(node.body, cst.Call):
            raise input_refused(module, node, "this lambda does not call an input function")
        return node.body

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
            function, *values = (
                value.apart() if self.batches.is_size(arg.value) else value
                for arg, value in zip(partial.args, known, strict=True)
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

    # ---- the parts ----

    def _value(self, module: Module, node: cst.BaseExpression) -> object:
        return self._facts.modules[module].values.get(node)

    def _callee(self, node: cst.BaseExpression, module: Module) -> FunctionValue:
        value = self._value(module, node)
        if not isinstance(value, FunctionValue) or value.owner is not None:
            raise input_refused(module, node, f"the input function `{module.code(node)}` cannot be followed")
        return value

    def _partial(self, node: cst.BaseExpression, module: Module) -> cst.Call | None:
        """The functools.partial(...) that a node is or stands for."""
        value = self._value(module, node)
        maker = node if isinstance(node, cst.Call) else value.node if isinstance(value, Opaque) else None
        if isinstance(maker, cst.Call) and maker.args:
            if self._facts.modules[module].symbols.get(maker.func) == "functools.partial":
                return maker
        return None

    def _pass_on(
        self, call: cst.Call, args: Sequence[cst.Arg], function: FunctionValue, sizes: Set[str], feed: Feed
    ) -> None:
        """A call that stays where it is: the batch sizes that it passes are multiplied there."""
        given = [arg for name, arg in named(args, parameters_of(function.node)) if name in sizes]
        self.batches.pass_on(call, given, feed)

    def _moved(
        self, args: Sequence[cst.Arg], function: FunctionValue, sizes: Set[str], feed: Feed
    ) -> Iterator[Written]:
        """The arguments of a call that moves to where it is read, with the batch sizes among them multiplied."""
        count = self._replicas.number_at(feed.use.site.frame, feed.receiver)
        for name, arg in named(args, parameters_of(function.node)):
            scaled = name in sizes and feed.is_distributed
            yield passed_as(arg, product(arg.value, count) if scaled else Written.at(arg.value))


def _call(callee: cst.BaseExpression, arguments: Iterable[Written]) -> Written:
    return Written.of(callee, "(", Written.joined(arguments, ", "), ")")
