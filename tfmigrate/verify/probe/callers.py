"""Where in the script a call was made, and where a model was compiled: a report points at these lines."""

import functools
import os
import sys

COMPILED = "_tfmigrate_compiled_at"


def place(config):
    """"train.py:12": the innermost frame of this thread that lies in the program's folder; None where none does."""
    if not config.get("script"):
        return None
    script = os.path.realpath(config["script"])
    root = os.path.realpath(config.get("program") or config["cwd"])
    frame = sys._getframe(1)
    while frame is not None:
        path = os.path.realpath(frame.f_code.co_filename)
        if path == script or path.startswith(root + os.sep):
            return "%s:%d" % (os.path.relpath(path, root), frame.f_lineno)
        frame = frame.f_back
    return None


def compiled_at(model):
    """Where the script last compiled this model; None where it did not."""
    return vars(model).get(COMPILED)


def compiling(original, recorder):
    """Keras' own `compile`, watched."""

    @functools.wraps(original)
    def compile(self, *args, **kwargs):
        object.__setattr__(self, COMPILED, place(recorder.config))
        return original(self, *args, **kwargs)

    return compile
