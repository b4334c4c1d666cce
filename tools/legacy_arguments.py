#!/usr/bin/env python
"""The table of rules/TFM206: which arguments of Keras 1 the old standalone Keras still took, and as what.

    OLD_PYTHON tools/legacy_arguments.py

Run it with a Python that has Keras 2.0 to 2.3 (2.3.1 is the last with multi_gpu_model). It reads the converters that
Keras itself wraps its classes and methods in, and prints one row of TOML each; those whose value changes with the name
(`dim_ordering`, `consume_less`) are left out, because plan/keras/keras1.py looks at the value.
"""

import inspect

import keras

BY_VALUE = ("dim_ordering", "consume_less", "samples_per_epoch")
THREADS = ("nb_worker", "pickle_safe", "max_q_size")
"""How batches were fetched: what they became is gone in Keras 3."""


def conversions(function):
    """The (old, new) pairs of a function that `generate_legacy_interface` wrapped."""
    # A wrapped function holds its table among the names it closes over.
    closure = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    if "check_positional_args" not in closure:
        return []
    # One table serves several classes; what it renames to an argument that this one never took was an error then too.
    parameters = inspect.signature(function._original_function).parameters.values()
    taken = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)} - {"self"}
    return [(old, new) for old, new in closure["conversions"] if new in taken or not taken]


def rows():
    """(qualified name, old, new) of every plain renaming."""
    for name in sorted(dir(keras.layers)):
        found = getattr(keras.layers, name)
        if inspect.isclass(found):
            for old, new in conversions(found.__init__):
                yield "keras.layers." + name, old, new
    yield "keras.models.Model.fit", "nb_epoch", "epochs"  # Model.fit of Keras 2.3.1 converts it in its body.
    for old, new in conversions(keras.layers.Input):
        yield "keras.layers.Input", old, new
    for old, new in conversions(keras.models.Model.__init__):
        yield "keras.models.Model", old, new
    for method in ("fit_generator", "evaluate_generator", "predict_generator"):
        for old, new in conversions(getattr(keras.models.Model, method)):
            yield "keras.models.Model." + method, old, new


def main():
    for of, old, new in rows():
        if old not in BY_VALUE:
            new = "" if old in THREADS else new
            print(f'    {{ kind = "argument", of = "{of}", old = "{old}", new = "{new}" }},')


if __name__ == "__main__":
    main()
