"""Sessions that only say how many threads there are, by the name of a number."""

from __future__ import annotations

from tests.kit import changed, check_migrated, migrate, with_model

SEEDED = with_model(
    """
import multiprocessing
import tensorflow as tf
from keras import backend as K


def prepare():
    cores = multiprocessing.cpu_count()
    config = tf.ConfigProto(intra_op_parallelism_threads=cores, inter_op_parallelism_threads=cores // 2)
    K.set_session(tf.Session(graph=tf.get_default_graph(), config=config))


prepare()
"""
)


def test_the_number_keeps_its_name() -> None:
    after = check_migrated(SEEDED).after
    assert (
        """
def prepare():
    cores = multiprocessing.cpu_count()
    tf.config.threading.set_intra_op_parallelism_threads(cores)
    tf.config.threading.set_inter_op_parallelism_threads(cores // 2)
"""
        in after
    )


def test_a_number_that_is_known_later_stays_with_the_session() -> None:
    late = changed(
        SEEDED,
        ("    cores = multiprocessing.cpu_count()\n", "    config = tf.ConfigProto()\n    cores = count()\n"),
        (
            "config = tf.ConfigProto(intra_op_parallelism_threads=cores, inter_op_parallelism_threads=cores // 2)",
            "config.intra_op_parallelism_threads = cores",
        ),
    )
    file = migrate(late)
    assert "config.intra_op_parallelism_threads = cores" in file.after
    assert "TFM211" in {finding.code for finding in file.findings if finding.action == "warn"}


def test_a_number_of_another_function_stays_there() -> None:
    given = changed(
        SEEDED,
        ("def prepare():\n    cores = multiprocessing.cpu_count()\n", "def session(cores):\n"),
        ("K.set_session(tf.Session(graph=tf.get_default_graph(), config=config))", "return tf.Session(config=config)"),
        ("prepare()\n", "K.set_session(session(4))\n"),
    )
    file = migrate(given)
    assert "def session(cores):" in file.after
    assert "TFM211" in {finding.code for finding in file.findings if finding.action == "warn"}
