"""Where a function stands that is written into a program."""

from __future__ import annotations

import json

from tests.kit import check_migrated
from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings

HEAD = """\
import sys
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.preprocessing.image import ImageDataGenerator
from keras.utils import multi_gpu_model
"""
REST = """
images = ImageDataGenerator()
parallel = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
parallel.compile("sgd", "mse")
parallel.fit_generator(images.flow(x, y, batch_size=8), steps_per_epoch=7, epochs=2)
"""


def test_it_stands_below_what_is_called_and_asserted_after_the_imports() -> None:
    checks = 'print("version", tf.__version__)\nassert sys.argv, "none"\nK.set_image_data_format("channels_last")\n'
    file = check_migrated(f"{HEAD}\n{checks}{REST}")
    assert f"\n{checks}\n\nclass Epochs(" in file.after


def test_in_a_notebook_it_stands_in_the_cell_that_imports_what_it_needs() -> None:
    first = "import sys\n\ndef add(path):\n    sys.path.append(path)\nadd('here')"
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source}
        for source in (first, HEAD, "rows = 1", REST.strip())
    ]
    document = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 2})
    file = migrate_bytes(document.encode(), "train.ipynb", Settings())
    sources = ["".join(cell["source"]) for cell in json.loads(file.after)["cells"]]
    assert ["class Epochs(" in source for source in sources] == [False, True, False, False]
