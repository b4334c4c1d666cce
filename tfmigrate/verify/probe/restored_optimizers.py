"""Optimizers with the arguments, defaults and arithmetic that old Keras gave them."""

import functools
import importlib
import inspect

import numpy as np

from . import flavours


def bring_old_optimizers(flavour):
    """Keras 2 still has the optimizers of TensorFlow 2.10 and before; they go where today's are."""
    for name in OPTIMIZERS:
        old, new = getattr(flavour.root.optimizers.legacy, name), getattr(flavour.root.optimizers, name)
        if old is not new:
            flavours.everywhere(new, old)


def restore_optimizers(flavour, defaults, places, old, standalone):
    """`old`: the classes add epsilon where they did, so it stays as it is. `standalone`: one norm clips all gradients
    together (keras/optimizers.py of 2.3.1), which has a name of its own today."""
    for cls in flavours.classes(flavour, "optimizers", OPTIMIZERS):
        cls.__init__ = with_old_arguments(
            cls.__init__,
            old_defaults(defaults, cls.__name__),
            places.get(cls.__name__.lower(), ()),
            flavour.root.optimizers.schedules,
            old,
            standalone,
        )
        if not old and (cls.__name__ == "RMSprop" or cls.__name__ == "Adagrad" and standalone):
            with_epsilon_beside_root(cls)


def restore_uncompiled_updates(flavour):
    """On a machine with GPUs the optimizers of Keras 2 (tf_keras 2.21) have XLA compile their updates, which then fail
    for weights on the CPU, where most old scripts build their template."""
    if not flavour.is_keras3:
        importlib.import_module("tf_keras.src.utils.tf_utils").can_jit_compile = lambda warn=False: False


OPTIMIZERS = ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam", "Ftrl")


def old_defaults(defaults, name):
    for key, values in defaults.items():
        if key.lower() == name.lower():
            return values
    return {}


def with_old_arguments(original, defaults, places, schedules, old, standalone):
    signature = inspect.signature(original)
    switches = {name for name, one in signature.parameters.items() if isinstance(one.default, bool)}

    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        if "lr" in kwargs:
            kwargs["learning_rate"] = kwargs.pop("lr")
        named = by_name(args, kwargs, places, switches)
        if named is not None:
            args, kwargs = (), dict(named, **kwargs)
        if not old:
            kwargs.pop("schedule_decay", None)
        if standalone and "clipnorm" in kwargs:
            kwargs["global_clipnorm"] = kwargs.pop("clipnorm")
        decay = kwargs.pop("decay", None)
        if kwargs.get("epsilon", 0) is None:
            del kwargs["epsilon"]
        bound = signature.bind_partial(self, *args, **kwargs).arguments
        for parameter, value in defaults.items():
            if parameter not in bound and parameter in signature.parameters:
                kwargs[parameter] = value
        if decay:
            bound = signature.bind_partial(self, *args, **kwargs)
            rate = bound.arguments.get("learning_rate", signature.parameters["learning_rate"].default)
            bound.arguments["learning_rate"] = schedules.InverseTimeDecay(rate, 1, decay)
            return original(*bound.args, **bound.kwargs)
        return original(self, *args, **kwargs)

    return __init__


def by_name(args, kwargs, places, switches):
    """Positional arguments by the names that the only version has which can have taken them; None where two can."""
    readings = {
        parameters[: len(args)]
        for parameters in map(tuple, places)
        if len(parameters) >= len(args)
        and not set(kwargs) & set(parameters[: len(args)])
        and all(taken(name, value, switches) for name, value in zip(parameters, args))
    }
    return dict(zip(readings.pop(), args)) if len(readings) == 1 else None


def taken(name, value, switches):
    if value is None:
        return name == "epsilon"
    if name in switches:
        return not isinstance(value, (int, float)) or value in (0, 1)
    return not isinstance(value, (bool, str))


def with_epsilon_beside_root(cls):
    """RMSprop and standalone Keras's Adagrad added epsilon to the square root and add it under the root today, where
    its square does what it did. RMSprop with momentum had it under the root before (ResourceApplyRMSProp of TensorFlow
    1.15 and 2.3); beside tf.keras's Adagrad, whose accumulator starts at 0.1, neither is felt."""
    original, from_config = cls.__init__, cls.from_config.__func__

    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        if not getattr(self, "momentum", 0):
            self.epsilon **= 2

    def squared_already(cls, config, *args, **kwargs):
        optimizer = from_config(cls, config, *args, **kwargs)
        optimizer.epsilon = config.get("epsilon", optimizer.epsilon)
        return optimizer

    cls.__init__ = __init__
    cls.from_config = classmethod(functools.wraps(from_config)(squared_already))


GIVEN = "_tfmigrate_given"
"""On an optimizer that a model was compiled with."""


def restore_shared_optimizers(flavour):
    """Old Keras made an optimizer's averages anew at each compile(), and kept one count of steps and one rate for all
    models that had it; today's is made for the weights of the model that trains first (TFM405)."""
    model_class = flavour.root.models.Model
    original = model_class.compile

    @functools.wraps(original)
    def compile(self, optimizer="rmsprop", *args, **kwargs):
        if getattr(optimizer, GIVEN, False):
            optimizer = twin(optimizer)
        elif hasattr(optimizer, "get_config"):
            object.__setattr__(optimizer, GIVEN, True)
        return original(self, optimizer, *args, **kwargs)

    model_class.compile = compile


def twin(optimizer):
    """Another one, with the same count of steps and the same rate."""
    other = type(optimizer).from_config(optimizer.get_config())
    other._iterations = optimizer.iterations
    for rate in ("_learning_rate", "_hyper"):  # today's; that of TensorFlow 2.10
        if hasattr(optimizer, rate):
            setattr(other, rate, getattr(optimizer, rate))
    return other


def restore_rates(flavour):
    """`K.set_value(model.optimizer.lr, x)`, as callbacks have it: Keras 3 lacks the name, and fails on the variable."""
    if not flavour.is_keras3:
        return
    flavour.root.optimizers.Optimizer.lr = property(
        lambda self: self.learning_rate, lambda self, rate: setattr(self, "learning_rate", rate)
    )
    for namespace in flavour.namespaces:
        namespace.backend.set_value = lambda x, value: x.assign(value)
        namespace.backend.get_value = lambda x: np.asarray(x) if hasattr(x, "assign") else x
