"""Arguments that the __init__ of a class passes to that of its base, a class of Keras."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

HEIR = """
from tensorflow.keras import callbacks
from tensorflow.keras.layers import Conv2D, Dense, Flatten
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


class Own({bases}):
    def __init__(self, size, on_restart=False):
        self.size = size
        {call}


model = Sequential([Conv2D(2, 3, input_shape=(4, 4, 1)), Flatten(), Dense(1)])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
own = Own({given})
parallel_model.train_on_batch(x, y)
"""


def heir(bases: str, call: str, given: str = "3") -> str:
    return HEIR.format(bases=bases, call=call, given=given)


@pytest.mark.parametrize("call", ["super().__init__({})", "super(Own, self).__init__({})", "{base}.__init__(self, {})"])
@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        ("callbacks.TensorBoard", "log_dir='a', batch_size=size, update_freq=size", "log_dir='a', update_freq=size"),
        ("callbacks.ReduceLROnPlateau", "factor=0.1, epsilon=size", "factor=0.1, min_delta=size"),
        ("callbacks.ModelCheckpoint", "'a.h5', load_weights_on_restart=False", "'a.h5'"),
        ("callbacks.ModelCheckpoint", "'a.h5', load_weights_on_restart=on_restart", "'a.h5'"),
        ("Conv2D", "filters=2, kernel_size=3, init='zeros'", "filters=2, kernel_size=3, kernel_initializer='zeros'"),
    ],
)
def test_they_are_those_of_the_base(call: str, base: str, old: str, new: str) -> None:
    file = check_migrated(heir(base, call.format(old, base=base)))
    assert f"        {call.format(new, base=base)}\n" in file.after


def test_what_is_gone_is_reported() -> None:
    call = "super().__init__('a.h5', load_weights_on_restart=on_restart)"
    file = migrate(heir("callbacks.ModelCheckpoint", call, "3, on_restart=True"))
    assert actions(file, "TFM501") == ["warn"]
    file = migrate(heir("Conv2D", "super().__init__(size, 3, border='same')"))
    assert actions(file, "TFM503") == ["warn"]


def test_a_default_that_every_object_keeps_is_known() -> None:
    call = "super().__init__('a.h5', load_weights_on_restart=load_weights_on_restart)"
    code = heir("callbacks.ModelCheckpoint", call).replace("on_restart=False", "load_weights_on_restart=False")
    code = code.replace("own = Own(3)", "def made(size):\n    return Own(size)\n")
    assert "super().__init__('a.h5')" in check_migrated(code).after
    assert actions(migrate(code.replace("Own(size)", "Own(size, True)")), "TFM501") == ["warn"]


@pytest.mark.parametrize(
    ("bases", "call"),
    [
        ("Other, callbacks.ReduceLROnPlateau", "super().__init__(epsilon=size)"),
        ("Other", "super().__init__(epsilon=size)"),
        ("callbacks.ReduceLROnPlateau", "Other.__init__(self, epsilon=size)"),
        ("callbacks.ReduceLROnPlateau", "self.inner.__init__(epsilon=size)"),
        ("callbacks.ReduceLROnPlateau", "callbacks.ReduceLROnPlateau.__init__(other, epsilon=size)"),
        ("callbacks.ReduceLROnPlateau", "super().start(epsilon=size)"),
    ],
)
def test_those_of_another_call_are_not(bases: str, call: str) -> None:
    code = heir(bases, call).replace("class Own", "from elsewhere import Other, other\n\n\nclass Own", 1)
    file = check_migrated(code)
    assert f"        {call}\n" in file.after
    assert not {"TFM501", "TFM503"} & {finding.code for finding in file.findings}
