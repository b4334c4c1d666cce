"""What a call of Keras or TensorFlow makes: a model, a layer, an optimizer, a strategy, a part of an Estimator."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand import machine, names
from tfmigrate.understand.contents import all_models, all_sites, is_keras
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.origins import may_be_model
from tfmigrate.understand.state import State
from tfmigrate.understand.tensors import combined, flowing, layered
from tfmigrate.understand.values import (
    NOTHING,
    Arguments,
    Dataset,
    EstimatorPart,
    Made,
    Opaque,
    Partial,
    StrategyObject,
    Value,
)
from tfmigrate.understand.wraps import wrap


def call_library(state: State, name: str, arguments: Arguments, node: cst.Call) -> Value:
    """What a call of something from outside this program returns. `name`: the name it was imported by."""
    if names.canonical(name) == names.MULTI_GPU_MODEL or name in state.aliases:
        return wrap(state, arguments, node)
    listed = machine.listed(name, arguments)
    if listed is not None:
        return listed
    _note(state, name, arguments, node)
    return (
        _made_by_tensorflow(state, name, arguments, node)
        or _made_by_keras(state, name, arguments, node)
        or _not_followed(state, name, arguments, node)
    )


def _note(state: State, name: str, arguments: Arguments, node: cst.Call) -> None:
    """What such a call does to the program's surroundings, or may be."""
    if machine.chooses_devices(name, arguments):
        state.chooses_devices(node)
    of_copies = name.rsplit(".", 1)[-1] in names.OF_COPIES
    if of_copies and state.names_keras and any(may_be_model(value) for _, value in arguments):
        state.facts.copies[node] = name
    if name.endswith("experimental_set_strategy"):
        state.program_facts.scopes_elsewhere = True


def _made_by_tensorflow(state: State, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    strategy = names.strategy_class(name)
    if strategy is not None:
        return _strategy(state, strategy, node)
    if names.makes_dataset(name):
        return Dataset()
    part = names.estimator_name(name)
    return _estimator_part(state, part, arguments, node) if part is not None else None


def _not_followed(state: State, name: str, arguments: Arguments, node: cst.Call) -> Value:
    values = tuple(value for _, value in arguments)
    if name == "functools.partial" and arguments and arguments[0][0] is None and not is_keras(values[0]):
        return Partial(f"a call of {name}", node=node, callee=values[0], arguments=arguments[1:])
    if any(map(is_keras, values)):
        return combined(state, values, node)
    settings = names.reads_settings(name)
    plain = settings or name.startswith("numpy.")
    return Opaque(f"a call of {name}", frozenset() if plain else frozenset((state.site,)), node, settings)


def _made_by_keras(state: State, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    known = names.canonical(name)
    here = frozenset((state.site,))
    values = tuple(value for _, value in arguments)
    if known in names.MODEL_CLASSES:
        return state.new_model(node, flowing(arguments), all_models(values), origin="constructed", maker=name)
    if known in names.MODEL_LOADERS:
        return state.new_model(node, on=all_models(values), origin="loaded", maker=name)
    if names.is_pretrained(known):
        return state.new_model(node, all_sites(values), all_models(values), origin="a pretrained network", maker=name)
    if known == "keras.layers.Input":
        return Made("tensor", known, here)
    if names.is_layer(known):
        return Made("layer", known, here | all_sites(values), all_models(values), node)
    if names.is_optimizer(known):
        return Made("optimizer", known, here, frozenset(), node)
    if names.is_metric(known):
        return Made("metric", known, here)
    if known.startswith("keras.layers."):
        return layered(state, NOTHING, arguments)
    return None


def _strategy(state: State, name: str, node: cst.Call) -> StrategyObject:
    state.effects += 1
    strategy = StrategyObject(name, state.site, node)
    state.program_facts.strategies.append(strategy)
    return strategy


def _estimator_part(state: State, part: str, arguments: Arguments, node: cst.Call) -> Value:
    state.effects += 1
    if part == "train_and_evaluate":
        receiver = next((value for keyword, value in arguments if keyword in (None, "estimator")), NOTHING)
        use = Use(part, node, state.site, receiver, arguments, state.program_facts.wraps)
        state.program_facts.estimator_uses.append(use)
        return Opaque("the result of train_and_evaluate()", frozenset((state.site,)), node)
    estimator = EstimatorPart(part, state.site, node, arguments)
    state.program_facts.estimators.append(estimator)
    return estimator
