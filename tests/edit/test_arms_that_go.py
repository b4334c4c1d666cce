"""Where both arms of a choice become one, the comments of the one that goes stay, and the scopes are not divided."""

from __future__ import annotations

import pytest

from tests.kit import migrate

HEAD = """import keras
from keras.utils import multi_gpu_model
from data import x, y, gpus

model = keras.models.Sequential()
model.add(keras.layers.Dense(1, input_shape=(4,)))
"""
WRAPPED = """    parallel = multi_gpu_model(model, gpus=gpus)
    parallel.compile('sgd', 'mae')
    parallel.fit(x, y, epochs=2)
"""
PLAIN = """    model.compile('sgd', 'mae')
    # with callbacks:
    #     callbacks=[log]
    model.fit(x, y, epochs=2)
"""


@pytest.mark.parametrize(
    "choice",
    [f"if gpus > 1:\n{WRAPPED}else:\n{PLAIN}", f"if gpus < 2:\n{PLAIN}else:\n{WRAPPED}"],
)
def test_the_comments_of_the_arm_that_goes_stay(choice: str) -> None:
    after = migrate(HEAD + choice).after
    assert [line.strip() for line in after.splitlines() if "#" in line] == [
        "# with callbacks:",
        "#     callbacks=[log]",
    ]
    assert after.count("model.fit(") == 1


def test_a_comment_of_both_arms_stands_once() -> None:
    wrapped = WRAPPED.replace("    parallel.fit", "    # with callbacks:\n    #     callbacks=[log]\n    parallel.fit")
    after = migrate(f"{HEAD}if gpus > 1:\n{wrapped}else:\n{PLAIN}").after
    assert after.count("# with callbacks:\n#     callbacks=[log]\ntrain_dataset") == 1


def test_an_arm_that_begins_with_a_scope_goes_on_with_the_last_one() -> None:
    plain = "    model.compile('sgd', 'mae')\n    model.fit(x, y, epochs=2)\n"
    after = migrate(f"{HEAD}if gpus > 1:\n{WRAPPED}else:\n{plain}").after
    inner = "    model.add(keras.layers.Dense(1, input_shape=(4,)))\n    model.compile('sgd', 'mae')\ntrain_dataset"
    assert inner in after
    assert after.count("with strategy.scope():") == 1


def test_a_scope_stays_apart_from_one_before_it_that_other_code_follows() -> None:
    plain = "    model.compile('sgd', 'mae')\n    model.fit(x, y, epochs=2)\n"
    after = migrate(f"{HEAD}model.summary()\nif gpus > 1:\n{WRAPPED}else:\n{plain}").after
    assert "model.summary()\nwith strategy.scope():\n    model.compile('sgd', 'mae')\n" in after
