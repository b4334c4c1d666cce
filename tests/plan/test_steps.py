"""Numbers of steps that are quotients. Keras 3 was read: `range(0, steps_per_epoch, ...)` in epoch_iterator.py."""

from __future__ import annotations

import math

import pytest

from tests.kit import migrate

MODEL = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
model = multi_gpu_model(model, gpus=2)
model.compile(loss="mse", optimizer="sgd")
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit_generator(feed, n / 16)\n", "model.fit(feed, steps_per_epoch=math.ceil(n / 16))\n"),
        ("model.evaluate_generator(feed, steps=len(x) / b)\n", "model.evaluate(feed, steps=math.ceil(len(x) / b))\n"),
        (
            "import math\nmodel.predict(feed, steps=n / b)\n",
            "import math\nmodel.predict(feed, steps=math.ceil(n / b))\n",
        ),
        (
            "import numpy as np\nmodel.fit(feed, validation_steps=(n + 1) / b)\n",
            "import numpy as np\nmodel.fit(feed, validation_steps=int(np.ceil((n + 1) / b)))\n",
        ),
        (
            "import math\nmodel.predict(feed, steps=2 * n / b + 1)\n",
            "import math\nmodel.predict(feed, steps=math.ceil(2 * n / b + 1))\n",
        ),
        ("model.predict(feed, steps=max(1, n / b))\n", "model.predict(feed, steps=math.ceil(max(1, n / b)))\n"),
        ("model.predict(feed, steps=0.5 * n)\n", "model.predict(feed, steps=math.ceil(0.5 * n))\n"),
        ("math = 2\nmodel.predict(feed, steps=0.5 * n)\n", "model.predict(feed, steps=int(-(-(0.5 * n) // 1)))\n"),
        ("model.predict(feed, steps=float(n) // b)\n", "model.predict(feed, steps=int(float(n) // b))\n"),
        (
            "each = n / b\nsteps = each\nmodel.predict(feed, steps=steps)\n",
            "model.predict(feed, steps=math.ceil(steps))\n",
        ),
        (
            "import numpy as np\nmodel.predict(feed, steps=np.ceil(n / b) // k)\n",
            "import numpy as np\nmodel.predict(feed, steps=int(np.ceil(n / b) // k))\n",
        ),
    ],
)
def test_a_quotient_is_rounded_up(before: str, after: str) -> None:
    file = migrate(MODEL + before)
    assert file.after.endswith(after)


def test_the_import_of_math_stands_once() -> None:
    file = migrate("import os\n\n" + MODEL + "model.predict(feed, steps=n / b)\nmodel.evaluate(feed, steps=n / b)\n")
    assert file.after.startswith("import math\nimport os\n\n")
    assert file.after.count("import math") == 1


def test_what_a_name_was_bound_to_last_is_rounded() -> None:
    file = migrate(
        MODEL
        + "\n\ndef train(feed, epochs, steps):\n"
        + "    epochs = max(1, epochs * float(steps) / 256)\n"
        + "    model.fit_generator(feed, steps_per_epoch=256, epochs=epochs)\n"
    )
    assert "model.fit(feed, steps_per_epoch=256, epochs=math.ceil(epochs))" in file.after


@pytest.mark.parametrize(
    "lines",
    [
        "    if long:\n        epochs = epochs / 2\n",
        "    for _ in feed:\n        epochs = epochs / 2\n",
        "    epochs = epochs / 2\n    epochs = int(epochs)\n",
    ],
)
def test_what_is_a_float_only_at_times_stays(lines: str) -> None:
    file = migrate(
        MODEL + f"\n\ndef train(feed, epochs, long):\n{lines}    model.fit_generator(feed, 256, epochs=epochs)\n"
    )
    assert "model.fit(feed, steps_per_epoch=256, epochs=epochs)" in file.after


OPTIONS = """\
import argparse
import math

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=float, default=4)
parser.add_argument("--epochs", type=int, default=4)
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit_generator(feed, 4, n / 2)\n", "model.fit(feed, steps_per_epoch=4, epochs=math.ceil(n / 2))\n"),
        ("model.fit_generator(feed, 4, epochs=1e1)\n", "model.fit(feed, steps_per_epoch=4, epochs=math.ceil(1e1))\n"),
        (
            "model.fit_generator(feed, 4, 9, initial_epoch=n / 4)\n",
            "model.fit(feed, steps_per_epoch=4, epochs=9, initial_epoch=int(n / 4))\n",
        ),
        ("model.predict(feed, steps=args.steps)\n", "model.predict(feed, steps=math.ceil(args.steps))\n"),
        ("model.predict(feed, steps=args.steps * 2)\n", "model.predict(feed, steps=math.ceil(args.steps * 2))\n"),
    ],
)
def test_epochs_and_options_that_are_floats(before: str, after: str) -> None:
    file = migrate(OPTIONS + MODEL + before)
    assert file.after.endswith(after)


@pytest.mark.parametrize(
    "line",
    [
        "model.fit(feed, steps_per_epoch=args.epochs)",
        "model.fit(feed, steps_per_epoch=self.steps)",
        "model.fit(feed, steps_per_epoch=int(args.steps))",
        "model.fit(feed, epochs=n / 2)",
        "model.fit(feed, initial_epoch=n)",
    ],
)
def test_options_that_are_whole_and_epochs_of_fit_stay(line: str) -> None:
    file = migrate(f"{OPTIONS}{MODEL}{line}\n")
    assert file.after.endswith(f"{line}\n")


@pytest.mark.parametrize("steps", ["n // 16", "int(n / 16)", "steps", "20", "max(1, n // b)", "n // b * 2"])
def test_what_is_whole_or_unknown_stays(steps: str) -> None:
    file = migrate(f"{MODEL}model.fit(feed, steps_per_epoch={steps})\n")
    assert file.after.endswith(f"model.fit(feed, steps_per_epoch={steps})\n")
    assert "TFM217" not in {finding.code for finding in file.findings}


@pytest.mark.parametrize(("n", "b"), [(20, 8), (16, 8), (1, 8), (0.8 * 100, 16)])
def test_the_floor_of_the_negative_is_the_number_keras_2_took(n: float, b: int) -> None:
    done = 0
    while done < n / b:
        done += 1
    assert done == int(-(-n // b)) == math.ceil(n / b)
