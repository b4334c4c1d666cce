"""`sample_weight_mode` of compile(), which Keras 3 does not take."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

HEAD = """\
from keras.layers import LSTM, Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(5, 4))])
parallel = multi_gpu_model(model, gpus=2)
{code}
parallel.fit_generator(batches, steps_per_epoch=2)
"""


@pytest.mark.parametrize("mode", ["'temporal'", "None", "['temporal']", "{'dense': 'temporal'}", "['temporal', None]"])
def test_what_the_shape_of_the_weights_says_goes(mode: str) -> None:
    file = check_migrated(HEAD.format(code=f"parallel.compile('sgd', 'mse', sample_weight_mode={mode})"))
    assert "model.compile('sgd', 'mse')" in file.after
    assert (actions(file, "TFM215"), actions(file, "TFM501")) == (["rewrite"], [])


def test_a_name_of_it_is_followed() -> None:
    code = "mode = 'temporal' if weigh else None\nparallel.compile('sgd', 'mse', sample_weight_mode=mode)"
    file = check_migrated(HEAD.format(code=code))
    assert "model.compile('sgd', 'mse')" in file.after


@pytest.mark.parametrize("mode", ["'samplewise'", "modes", "['temporal', mode]"])
def test_any_other_value_is_told(mode: str) -> None:
    file = migrate(HEAD.format(code=f"parallel.compile('sgd', 'mse', sample_weight_mode={mode})"))
    assert f"sample_weight_mode={mode}" in file.after
    assert (actions(file, "TFM215"), actions(file, "TFM501")) == ([], ["warn"])
