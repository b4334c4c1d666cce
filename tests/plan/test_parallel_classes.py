"""Classes of models that do what multi_gpu_model does, and keep the model that they are given."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, check_refused, check_unchanged, migrate, migrate_files

CLASS = """\
import tensorflow as tf
from tensorflow.keras import layers as L
from tensorflow.keras import models as M


class ParallelModel(M.Model):
    def __init__(self, single, gpu_count):
        self.inner = single
        self.gpu_count = gpu_count
        super().__init__(inputs=single.inputs, outputs=self.towers())

    def __getattribute__(self, name):
        if "save" in name or "load" in name:
            return getattr(self.inner, name)
        return super().__getattribute__(name)

    def towers(self):
        parts = tf.split(self.inner.inputs[0], self.gpu_count)
        outputs = []
        for number in range(self.gpu_count):
            with tf.device("/gpu:%d" % number):
                part = L.Lambda(lambda whole: parts[number])(self.inner.inputs[0])
                outputs.append(self.inner(part))
        with tf.device("/cpu:0"):
            return [L.Concatenate(axis=0, name=self.inner.output_names[0])(outputs)]


"""
USE = """\
model = M.Sequential([L.Dense(1, input_shape=(4,))])
parallel = ParallelModel(model, 2)
parallel.compile("sgd", "mse")
parallel.fit(batches, epochs=2)
"""


def test_a_class_that_splits_the_batch_among_the_gpus_goes_with_its_last_call() -> None:
    file = check_migrated(CLASS + USE + "parallel.inner.summary()\n")
    assert file.after.endswith(
        """\
strategy = tf.distribute.MirroredStrategy(devices=["/gpu:0", "/gpu:1"])
with strategy.scope():
    model = M.Sequential([L.Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
model.fit(batches, epochs=2)
model.summary()
"""
    )
    assert [finding.message.partition(";")[0] for finding in file.findings if finding.code == "TFM001"] == [
        "the class ParallelModel, which splits the batch among the GPUs, is removed",
        "ParallelModel (gpus=2) becomes a MirroredStrategy",
    ]
    assert {finding.code for finding in file.findings} == {"TFM001"}  # Nothing is said of what goes with the class.


def test_nothing_is_told_of_old_names_in_a_class_that_goes() -> None:
    slices = "{n: tf.split(x, 2) for n, x in zip(self.inner.input_names, self.inner.inputs)}"
    own = CLASS.replace("tf.split(self.inner.inputs[0], self.gpu_count)", slices)
    user = "from parallel import ParallelModel\nfrom tensorflow.keras import layers as L, models as M\n\n\n" + USE
    files = migrate_files({"parallel.py": own, "train.py": user})
    assert {finding.code for file in files.values() for finding in file.findings} <= {"TFM001", "TFM003"}


def test_it_is_followed_from_one_file_to_another() -> None:
    user = "from parallel import ParallelModel\nfrom tensorflow.keras import layers as L, models as M\n\n\n" + USE
    files = migrate_files({"parallel.py": CLASS, "train.py": user})
    assert "ParallelModel" not in files["train.py"].after + files["parallel.py"].after
    assert [finding.message for finding in files["parallel.py"].findings] == [
        "the class ParallelModel, which splits the batch among the GPUs, is removed; this file contains nothing "
        "else: delete it"
    ]


def test_code_that_asks_whether_it_is_one_stays() -> None:
    asked = 'layers = parallel.inner.layers if hasattr(parallel, "inner") else parallel.layers\nprint(layers)\n'
    file = check_migrated(CLASS + USE + asked)
    assert file.after.endswith(asked.replace("parallel", "model"))
    assert "TFM024" not in {finding.code for finding in file.findings}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gpu_count", "depth"),  # Called that often under one device after another, but not for GPUs.
        ("L.Concatenate(axis=0, name=self.inner.output_names[0])(outputs)", "outputs[0]"),
        ('with tf.device("/gpu:%d" % number)', "with nothing()"),
        ("super().__init__(inputs=single.inputs, outputs=self.towers())", "super().__init__()"),
        ("self.inner(part)", "self.other(part)"),
    ],
)
def test_a_class_that_does_anything_else_is_left_alone(old: str, new: str) -> None:
    check_unchanged((CLASS + USE).replace(old, new))


def test_one_of_several_uses_that_cannot_be_migrated_keeps_it() -> None:
    file = migrate(CLASS + USE + "\n\ndef again(model):\n    return ParallelModel(model, 2)\n")
    assert "class ParallelModel" in file.after


def test_a_class_derived_from_it_is_refused() -> None:
    derived = "class Mine(ParallelModel):\n    def store(self):\n        self.inner.save('net.h5')\n\n\n"
    check_refused(CLASS + derived + USE.replace("ParallelModel(", "Mine("), "TFM108")
