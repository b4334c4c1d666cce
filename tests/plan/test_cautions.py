"""What a migrated program is told beside its edits."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

GAN = """\
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model


class Gan:
    def __init__(self):
        self._critic = None

    def critic(self):
        if self._critic is None:
            x = Input((4,))
            self._critic = Model(x, Dense(1)(x))
        return self._critic

    def train(self, noise, real):
        x = Input((4,))
        whole = multi_gpu_model(Model(x, self.critic()(Dense(4)(x))), gpus=2)
        {toggle}
        whole.compile("sgd", "mse")
        judge = multi_gpu_model(self.critic(), gpus=2)
        judge.compile("sgd", "mse")
        judge.fit(real)
        whole.fit(noise)


Gan().train(noise, real)
"""


@pytest.mark.parametrize(("toggle", "told"), [("self.critic().trainable = False", 1), ("whole.trainable = True", 0)])
def test_a_model_that_a_getter_builds_is_known_to_be_part_of_another(toggle: str, told: int) -> None:
    (file,) = migrate_sources({"gan.py": GAN.format(toggle=toggle)}, Settings())
    assert file.status == "migrated"
    assert [finding.code for finding in file.findings].count("TFM401") == told


@pytest.mark.parametrize(
    ("clips", "told"),
    [
        ("clipvalue=0.5", ""),
        ("clipnorm=0.0, clipvalue=0.5", "raises ValueError"),
        ("momentum=0.9", ""),
    ],
)
def test_two_bounds_for_the_gradients_are_told_once(clips: str, told: str) -> None:
    code = "from keras.layers import Dense\nfrom keras.models import Sequential\nfrom keras.optimizers import SGD\n"
    code += "from keras.utils import multi_gpu_model\nmodel = Sequential([Dense(1, input_shape=(4,))])\n"
    code += f"model = multi_gpu_model(model, 2)\nmodel.compile(SGD({clips}), 'mse')\nmodel.fit(batches)\n"
    file = migrate(code)
    warned = [finding.message for finding in file.findings if finding.code == "TFM310" and finding.action == "warn"]
    assert len(warned) == (1 if told else 0)
    assert all(told in message for message in warned)


@pytest.mark.parametrize(
    ("choice", "arguments", "told"),
    [
        ("CuDNNLSTM if fast else LSTM", "8", "this may be LSTM,"),
        ("GRU if small else LSTM", "8, recurrent_activation='tanh'", "this may be GRU,"),
        ("Dense if flat else Conv1D", "8, 1", ""),
        ("CuDNNLSTM if fast else LSTM", "8, recurrent_activation='tanh'", ""),
    ],
)
def test_a_class_of_layers_that_is_chosen_late_is_told(choice: str, arguments: str, told: str) -> None:
    code = "from keras.layers import GRU, LSTM, Conv1D, CuDNNLSTM, Dense\nfrom keras.models import Sequential\n"
    code += f"from keras.utils import multi_gpu_model\nkind = {choice}\nmodel = Sequential([kind({arguments})])\n"
    code += "model = multi_gpu_model(model, 2)\nmodel.compile('sgd', 'mse')\nmodel.fit(batches)\n"
    file = migrate(code)
    warned = [finding.message for finding in file.findings if finding.code == "TFM303"]
    assert len(warned) == (1 if told else 0)
    assert all(message.startswith(told) for message in warned)
