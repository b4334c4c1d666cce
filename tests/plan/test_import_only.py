"""Programs that import multi_gpu_model and never call it: all modules that run together leave the old Keras."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, migrate, migrate_files
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

TRAIN = """\
from keras.utils import multi_gpu_model
from network import build, score

model = build()
model.compile("sgd", "mse", metrics=[score])
model.fit(x, y)
"""
NETWORK = """\
from keras import backend as K
from keras.engine import Layer
from keras.layers import Dense
from keras.models import Sequential


class Twice(Layer):
    def call(self, x):
        return 2 * x


def score(y_true, y_pred):
    return K.mean(y_pred - K.mean(y_pred)) / K.max(y_true)


def build():
    return Sequential([Dense(1, input_shape=(4,)), Twice()])
"""


def test_what_it_imports_and_what_imports_that_leave_too() -> None:
    texts = {"train.py": TRAIN, "network.py": NETWORK, "show.py": "from keras import backend\nimport network\n"}
    files = migrate_files({**texts, "apart.py": "import keras\n"})
    assert files["train.py"].after == TRAIN.partition("\n")[2]
    assert "from tensorflow.keras.layers import Layer, Dense\n" in files["network.py"].after
    assert files["show.py"].after == "from tensorflow.keras import backend\nimport network\n"
    assert files["apart.py"].after == "import keras\n"


def test_what_is_not_in_tensorflow_is_told_of_the_module_that_it_imports() -> None:
    network = NETWORK.replace(
        "import backend as K\n",
        "import backend as K\nfrom keras.legacy import interfaces\n\nprint(interfaces)\n",
    )
    files = migrate_files({"train.py": TRAIN, "network.py": network})
    assert [f.message for f in files["network.py"].findings if f.action == "warn" and "keras.legacy" in f.message]


def test_nothing_is_said_of_replicas_where_there_are_none() -> None:
    file = check_migrated(TRAIN, network=NETWORK)
    assert not [finding for finding in file.findings if "replica" in finding.message], file.findings


@pytest.mark.parametrize(
    "strategy",
    [
        "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\n"
        "with strategy.scope():\n    model = build()\n",
        "from keras.utils import multi_gpu_model as spread\nmodel = spread(build(), 2)\n",
    ],
)
def test_it_is_said_where_there_is_a_strategy(strategy: str) -> None:
    file = migrate(TRAIN.replace("model = build()\n", strategy), network=NETWORK)
    assert [finding for finding in file.findings if finding.code == "TFM403"], file.findings


def test_one_that_stays_on_the_old_keras_for_a_refused_use_takes_nothing_along() -> None:
    texts = {
        "wrap.py": "import layers\nfrom keras.utils import multi_gpu_model\n\nwraps = [multi_gpu_model]\n",
        "layers.py": "from keras.layers import Dense\n",
        "passes.py": "from wrap import multi_gpu_model\n\nprint(multi_gpu_model)\n",
    }
    for file in migrate_sources(texts, Settings()):
        assert file.after == file.before, file.findings


IDLE = """\
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

strategy = tf.distribute.MirroredStrategy()
{more}

def dice(t, p):
    return 2 * K.sum(t * p) / (K.sum(t) + K.sum(p))


def train(x, y):
    model = Sequential([Dense(1, input_shape=(4,))])
    model.compile("sgd", dice)
    model.fit(x, y)
"""


@pytest.mark.parametrize("more", ["", "print(strategy.num_replicas_in_sync)\n"])
def test_beside_a_strategy_that_is_left_idle_a_loss_keeps_its_batch(more: str) -> None:
    assert 'model.compile("sgd", dice)' in check_migrated(IDLE.format(more=more)).after


@pytest.mark.parametrize(
    "more",
    [
        "tf.distribute.experimental_set_strategy(strategy)\n",
        "strategy.scope().__enter__()\n",
        "with strategy.scope():\n    train(x, y)\n",
        "train(x, y)\n",
    ],
)
def test_beside_one_that_may_be_used_it_is_given_the_whole(more: str) -> None:
    text = IDLE.format(more="") + more
    assert 'model.compile("sgd", whole_batch(dice))' in check_migrated(text).after
