"""An old script that dies of what only an older Keras has: the reason says which one would run it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tfmigrate.verify.run.runtimes import Runtime

from .laboratory import LEGACY, MODERN, OLD_SCRIPT, Laboratory, broken

TF_KERAS = """from tensorflow.keras.utils import multi_gpu_model
model = multi_gpu_model(build(), gpus=2)
"""
TF_2_3 = replace(LEGACY, tensorflow="2.3.4", keras=None)
KERAS_2_2 = replace(LEGACY, keras="2.2.4")
NOT_UNDERSTOOD = "TypeError: ('Keyword argument not understood:', '{}') (old.py:4)"
UNEXPECTED = "TypeError: fit() got an unexpected keyword argument '{}' (old.py:4)"
UNRECOGNIZED = "ValueError: Unrecognized keyword arguments passed to Dense: {{'{}': 'uniform'}} (old.py:4)"
LEFT_OUT = "TypeError: __init__() missing 1 required positional argument: 'units' (old.py:4)"
NO_MERGE = "ImportError: cannot import name 'Merge' from 'keras.layers' (old.py:1)"
NO_ORDERING = "AttributeError: module 'keras.backend' has no attribute 'set_image_dim_ordering' (old.py:2)"
NO_TF = "AttributeError: module 'keras.backend' has no attribute 'tf' (old.py:2)"
UNDEFINED = "NameError: name 'regularizers' is not defined (old.py:4)"
STARRED = "from keras.layers import *\n" + OLD_SCRIPT
UP_TO_2_3 = "is an argument of Keras 1, which standalone Keras takes up to 2.3.1: `tfmigrate runtimes --make tf1.15`"
NEVER = "is an argument of Keras 1, which tf.keras takes in none of the versions"


@pytest.mark.parametrize(
    ("source", "old", "error", "told"),
    [
        (OLD_SCRIPT, None, UNEXPECTED.format("nb_epoch"), f"`nb_epoch` {UP_TO_2_3}"),
        (OLD_SCRIPT, None, UNRECOGNIZED.format("init"), f"`init` {UP_TO_2_3}"),
        (OLD_SCRIPT + "Dense(output_dim=3)\n", None, LEFT_OUT, f"`output_dim` {UP_TO_2_3}"),
        (OLD_SCRIPT, LEGACY, NO_MERGE, "`Merge` is in Keras up to 2.1.6: `tfmigrate runtimes --make tf1.15-keras2.1`"),
        (OLD_SCRIPT, LEGACY, NO_MERGE, "and --from keras==2.1.6 chooses it"),
        (OLD_SCRIPT, LEGACY, NO_ORDERING, "and --from keras==2.2.4 chooses it"),
        (OLD_SCRIPT, LEGACY, NO_TF, "`tf` is in Keras up to 2.2.4"),
        (STARRED, LEGACY, UNDEFINED, "`regularizers` is in Keras up to 2.2.4"),
        (OLD_SCRIPT + "merge([a, b], mode='sum')\n", LEGACY, "TypeError: 'module' object is not callable", "2.1.6"),
        (TF_KERAS, TF_2_3, UNEXPECTED.format("nb_epoch"), "which fit() of tf.keras takes up to TensorFlow 1.15"),
        (TF_KERAS, TF_2_3, NOT_UNDERSTOOD.format("border_mode"), f"`border_mode` {NEVER}"),
        (TF_KERAS + "Dense(output_dim=3)\n", TF_2_3, LEFT_OUT, f"`output_dim` {NEVER}"),
        # What it died of is not that.
        (OLD_SCRIPT, None, UNEXPECTED.format("colour"), None),
        (OLD_SCRIPT + "Dense(width=3)\n", None, LEFT_OUT, None),
        (OLD_SCRIPT, LEGACY, UNEXPECTED.format("p"), None),
        (OLD_SCRIPT, KERAS_2_2, NO_ORDERING, None),
        (OLD_SCRIPT, LEGACY, UNDEFINED, None),
        (STARRED, LEGACY, UNDEFINED.replace("regularizers", "colours"), None),
        (OLD_SCRIPT, LEGACY, "AttributeError: 'Net' object has no attribute 'tf' (old.py:4)", None),
        (OLD_SCRIPT, LEGACY, "AttributeError: 'Net' object has no attribute 'width' (old.py:4)", None),
        (OLD_SCRIPT, LEGACY, "TypeError: 'module' object is not callable (old.py:4)", None),
        (TF_KERAS, TF_2_3, NO_MERGE, None),
    ],
)
def test_which_keras_would_run_it(
    source: str, old: Runtime | None, error: str, told: str | None, lab: Laboratory
) -> None:
    lab.old.write_text(source)
    lab.runtimes = (MODERN,) if old is None else (MODERN, old)
    lab.behaviour = broken(genuine=error, restored="ValueError: it dies there too (old.py:9)" if old else error)
    report = lab.finds("COULD NOT RUN")
    if told is None:
        assert "in Keras up to" not in report.reason
        assert "of Keras 1" not in report.reason
    else:
        assert told in report.reason


def test_nothing_is_said_where_the_old_script_runs(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(restored=NOT_UNDERSTOOD.format("border_mode")))
    assert "of Keras 1" not in report.reason
