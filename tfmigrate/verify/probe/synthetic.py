"""Fixed data in the shapes of `keras.datasets`, for machines that cannot download.

Small, the same in every interpreter (NumPy's legacy generator is frozen), and learnable: each class has a pattern.
"""

import importlib
import sys

import numpy as np

TRAIN, TEST = 1024, 256
REAL = (60000, 50000, 10000)
"""Rows of the real sets of pictures, as scripts write them down."""


class Rows(np.ndarray):
    """Pictures of which `reshape(60000, 784)` takes all there are: scripts name the number of the real set."""

    def reshape(self, *shape, **kwargs):
        sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if len(sizes) > 1 and sizes[0] in REAL:
            sizes = (len(self),) + sizes[1:]
        return self.view(np.ndarray).reshape(*sizes, **kwargs)


def images(shape, classes, column, seed):
    """uint8 images: a class's pattern plus noise; labels uint8, (n, 1) where the real set has a column."""

    def load_data(*args, **kwargs):
        random = np.random.RandomState(seed)
        patterns = random.randint(0, 160, size=(classes,) + shape)
        count = TRAIN + TEST
        labels = random.randint(0, classes, size=count)
        x = (patterns[labels] + random.randint(0, 96, size=(count,) + shape)).astype(np.uint8)
        y = labels.astype(np.uint8)
        if column:
            y = y.reshape(-1, 1)
        x = x.view(Rows)
        return (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])

    return load_data


def texts(classes, words, seed):
    """Lists of word indices, object arrays; each class prefers its own words. `num_words` and `maxlen` are obeyed."""

    def load_data(
        path=None,
        num_words=None,
        skip_top=0,
        maxlen=None,
        test_split=None,
        seed_=None,
        start_char=1,
        oov_char=2,
        index_from=3,
        **kwargs,
    ):
        random = np.random.RandomState(seed)
        limit = num_words or words
        count = TRAIN + TEST
        labels = random.randint(0, classes, size=count)
        x = np.empty(count, dtype=object)
        for i in range(count):
            length = random.randint(20, 120)
            common = random.randint(index_from + 1, words, size=length)
            own = index_from + 1 + labels[i] + classes * random.randint(0, 5, size=length)
            indices = np.where(random.rand(length) < 0.3, own, common)
            indices = [start_char] + [int(w) if skip_top <= w < limit else oov_char for w in indices]
            x[i] = indices[:maxlen] if maxlen else indices
        y = labels.astype(np.int64)
        return (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])

    return load_data


def houses():
    """13 float64 columns and a price that is nearly linear in them; 404 and 102 rows, as the real set. Rounded, as it
    is: a library's last bit must not show."""

    def load_data(*args, **kwargs):
        random = np.random.RandomState(7)
        x = np.round(random.rand(506, 13) * 100, 3)
        y = np.round(22.5 + (x / 100 - 0.5).dot(random.randn(13)) * 5 + random.randn(506), 1)
        return (x[:404], y[:404]), (x[404:], y[404:])

    return load_data


SETS = {
    "mnist": images((28, 28), 10, False, 1),
    "fashion_mnist": images((28, 28), 10, False, 2),
    "cifar10": images((32, 32, 3), 10, True, 3),
    "cifar100": images((32, 32, 3), 100, True, 4),
    "imdb": texts(2, 20000, 5),
    "reuters": texts(46, 20000, 6),
    "boston_housing": houses(),
}
HOMES = (
    "keras.datasets",
    "tensorflow.keras.datasets",
    "tensorflow.python.keras.datasets",
    "tf_keras.datasets",
    "tf_keras.src.datasets",
    "keras.src.datasets",
    "keras._tf_keras.keras.datasets",
)


def install():
    """Answers `load_data()` wherever an importable Keras has it."""
    for home in HOMES:
        if home.split(".")[0] not in sys.modules:
            continue
        for name in SETS:
            try:
                importlib.import_module(home + "." + name)
            except ImportError:
                continue
    for name, module in list(sys.modules.items()):
        parts = name.split(".")
        if len(parts) > 1 and parts[-2] == "datasets" and parts[-1] in SETS and hasattr(module, "load_data"):
            module.load_data = SETS[parts[-1]]
