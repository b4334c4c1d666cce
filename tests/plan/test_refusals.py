"""What a refusal says: why, where, and what to do."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """import keras
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model


"""

NO_COMPILE = ". No copy can be trained instead: no compile() of the parallel model was found"
REFUSED = {
    "a parameter names the function whose callers are wanted": (
        "def spread(net, gpus):\n    return multi_gpu_model(net, gpus)\n",
        "the model is the parameter `net`, and no known call passes one: migrate the files that call spread() "
        f"together with this one, or let them build the model in a strategy's scope{NO_COMPILE}",
    ),
    "an object is made by calling its class": (
        "class Trainer:\n    def __init__(self, net):\n        self.net = multi_gpu_model(net, 2)\n",
        "the model is the parameter `net`, and no known call passes one: migrate the files that call Trainer() "
        f"together with this one, or let them build the model in a strategy's scope{NO_COMPILE}",
    ),
    "a name that nothing defines": (
        "parallel = multi_gpu_model(tower, 2)\n",
        "the model is the name tower, which none of the given files defines: define it, or import it by name",
    ),
    "an attribute of a name that nothing defines": (
        "parallel = multi_gpu_model(self.net, 2)\n",
        (
            "the model is the attribute `net` of the name self, which none of the given files defines: define "
            f"it{NO_COMPILE}"
        ),
    ),
    "a misspelt module": (
        "def spread():\n    return keras.util.multi_gpu_model(Sequential([Dense(1)]), 2)\n",
        "no version of Keras has keras.util.multi_gpu_model: if keras.utils.multi_gpu_model is meant, write that",
    ),
    "the places that share no caller": (
        "import keras\n\n\ndef net(metric=keras.metrics.Precision()):\n    return Sequential([Dense(1)]), metric\n\n\n"
        "class Trainer:\n    def __init__(self):\n        self.net, self.metric = net()\n\n"
        "    def train(self, gpus):\n        parallel = multi_gpu_model(self.net, gpus)\n"
        '        parallel.compile("sgd", "mse", [self.metric])\n        parallel.set_weights(self.best)\n',
        "its optimizer or a part of its model is created elsewhere, and no caller of both was found: line 11 of "
        "train.py and line 17 of train.py, in __init__(). No copy can be trained instead: after set_weights() at "
        "line 22 of train.py it would not have the model's weights",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_said(what: str) -> None:
    code, message = REFUSED[what]
    file = migrate(HEAD + code)
    assert [finding.message for finding in file.findings if finding.action == "refuse"][-1] == message


def test_of_many_places_the_first_is_named() -> None:
    parts = "import shelf\n\n" + "".join(f"P{number} = shelf.made({number})\n" for number in range(8))
    train = HEAD + (
        "import parts\n\ndef run():\n"
        "    model = Sequential([parts.P7, parts.P6, parts.P5, parts.P4, parts.P3, parts.P2, parts.P1, parts.P0])\n"
        "    parallel = multi_gpu_model(model, 2)\n    parallel.compile('sgd', 'mse')\n"
    )
    (file,) = [f for f in migrate_sources({"train.py": train, "parts.py": parts}, Settings()) if f.path == "train.py"]
    messages = [finding.message for finding in file.findings if finding.action == "refuse"]
    assert "built in places that share no caller: line 3 of parts.py and line " in messages[-1]
