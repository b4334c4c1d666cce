"""Graphs that a program enters (TFM228)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("graph = tf.get_default_graph()\nwith graph.as_default():\n    a = 1", "a = 1"),
        ("with tf.get_default_graph().as_default():\n    a = 1", "a = 1"),
        ("with tf.Graph().as_default():\n    a = 1", "a = 1"),
        ("graph = None\n\n\ndef load():\n    global graph\n    graph = tf.get_default_graph()\n\n\n"
         "def answer():\n    with graph.as_default():\n        return 1\n\n\nload()\nanswer()",
         "graph = None\n\n\ndef load():\n    global graph\n    graph = tf.compat.v1.get_default_graph()\n\n\n"
         "def answer():\n    return 1\n\n\nload()\nanswer()"),
        ("with tf.Graph().as_default():\n    x = tf.placeholder(1)\n    model.predict(x)",
         "x = tf.placeholder(1)\nmodel.predict(x)"),
        ("with tf.Graph().as_default():\n    x = tf.placeholder(1)\n    y = Dense(1)(x)",
         "x = tf.placeholder(1)\ny = Dense(1)(x)"),
        ("graph = tf.get_default_graph()\nprint(graph)", "graph = tf.compat.v1.get_default_graph()\nprint(graph)"),
        ("class Net:\n    def __init__(self):\n        self.graph = tf.get_default_graph()\n\n"
         "    def answer(self):\n        with self.graph.as_default():\n            return 1\n\n\nNet().answer()",
         "class Net:\n    def __init__(self):\n        self.graph = tf.compat.v1.get_default_graph()\n\n"
         "    def answer(self):\n        return 1\n\n\nNet().answer()"),
    ],
)  # fmt: skip
def test_the_block_is_in_no_graph(before: str, after: str) -> None:
    text, done = migrated(before, "TFM228")
    assert text == after
    assert set(done) == {"rewrite"}


@pytest.mark.parametrize(
    "lines",
    [
        "with open('x') as graph:\n    a = 1",
        "with session.graph.as_default():\n    a = 1",
        "with lock, graphs[0].as_default():\n    a = 1",
        "class Graph:\n    def as_default(self):\n        return self\n\n\nwith Graph().as_default():\n    a = 1",
        "graph = tf.compat.v1.get_default_graph()",
        "with tf.Graph().as_default():\n    tf.import_graph_def(frozen, name='')",
        "with tf.Graph().as_default():\n    saver = tf.compat.v1.train.Saver()",
        "with tf.Graph().as_default():\n    tf.saved_model.loader.load(opened(), ['serve'], 'folder')",
        "graph = tf.Graph()\nwith graph.as_default():\n    if a:\n        x = tf.layers.dense(tf.placeholder(1), 2)",
    ],
)
def test_other_blocks_stay(lines: str) -> None:
    assert migrated(lines, "TFM228") == (lines, [])
