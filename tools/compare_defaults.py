#!/usr/bin/env python
"""Default values of Keras's classes and functions that are not the same in every version, side by side.

    python tools/compare_defaults.py INTERPRETER...

Each interpreter has a Keras or a TensorFlow: keras 2.2.4, 2.3.1 (a standalone `keras` counts where it is older than
Keras 3), TensorFlow 1.15, 2.3, 2.9, 2.21. Every class of `layers`, `optimizers`, `losses`, `callbacks`, `initializers`
and `regularizers` and every function of `backend`, `utils` and `losses` is asked for its signature; an argument is
printed where its default differs, or where it is missing in some version and has a default in another. A rule's
`[[default]]` rows are read off this table; tests/plan/test_defaults.py holds them against it.

The file runs in every one of the interpreters, so it keeps to what Python 3.6 knows.
"""

import inspect
import json
import os
import subprocess
import sys

MODULES = ("layers", "optimizers", "losses", "callbacks", "initializers", "regularizers", "backend", "utils", "metrics")
MARK = "DEFAULTS "
ABSENT = "-"


def flavours():
    """(label, the keras module) of each Keras in this interpreter that a script could have meant."""
    import tensorflow

    version = tensorflow.__version__
    yield "tf.keras " + version, tensorflow.keras
    try:
        import keras
    except ImportError:
        return
    if keras.__version__.startswith("2.") and keras.__version__ <= "2.3.1":
        yield "keras " + keras.__version__, keras


def plain(function):
    """The function under Keras's decorators."""
    return getattr(function, "_original_function", None) or inspect.unwrap(function)


def defaults(found):
    """{argument: default as text} of a class or function; {} where it cannot be asked."""
    target = found.__init__ if inspect.isclass(found) else found
    try:
        parameters = inspect.signature(plain(target)).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: shown(p.default) for p in parameters if p.default is not p.empty}


def shown(value):
    """A default as text that is the same wherever it is the same value."""
    if isinstance(value, (bool, int, str)) or value is None:
        return repr(value)
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, (tuple, list)):
        return repr(tuple(value))
    return "a " + type(value).__name__


def collect():
    """{label: {module.name: {argument: default}}}"""
    found = {}
    for label, keras in flavours():
        table = {}
        for module in MODULES:
            home = getattr(keras, module)
            for name in dir(home):
                thing = getattr(home, name, None)
                if name.startswith("_") or not callable(thing):
                    continue
                table[module + "." + name] = defaults(thing)
        found[label] = table
    return found


def collected(interpreter):
    """What `collect` gives in another interpreter. Raises SystemExit naming it when it fails."""
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    process = subprocess.Popen(
        [interpreter, "-W", "ignore", os.path.abspath(__file__), "--collect"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    out, err = process.communicate()
    lines = [line for line in out.decode().splitlines() if line.startswith(MARK)]
    if process.returncode or not lines:
        sys.exit(f"{interpreter} could not be asked:\n{err.decode()[-2000:]}")
    return json.loads(lines[-1][len(MARK) :])


def differing(tables):
    """(name, argument, [default in each table]) where they are not all the same, for names that all tables have."""
    everywhere = set.intersection(*(set(table) for table in tables))
    for name in sorted(everywhere):
        arguments = sorted({argument for table in tables for argument in table[name]})
        for argument in arguments:
            values = [table[name].get(argument, ABSENT) for table in tables]
            if len(set(values)) > 1:
                yield name, argument, values


def age(label):
    """Sorts standalone Keras before tf.keras, and old before new."""
    name, version = label.split()
    return name, [int(part) for part in version.split(".")[:2]]


def main(interpreters):
    found = {}
    for interpreter in interpreters:
        found.update(collected(interpreter))
    labels = sorted(found, key=age)
    print("| name | argument | " + " | ".join(labels) + " |")
    print("|" + "---|" * (len(labels) + 2))
    for name, argument, values in differing([found[label] for label in labels]):
        print(f"| {name} | {argument} | {' | '.join(values)} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["--collect"]:
        print(MARK + json.dumps(collect()))
    elif sys.argv[1:]:
        main(sys.argv[1:])
    else:
        sys.exit(__doc__)
