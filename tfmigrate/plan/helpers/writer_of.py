import tensorflow as tf


def writer_of(tensorboard):
    """The FileWriter that TensorBoard kept as its `writer` in TensorFlow 1."""
    if not hasattr(tensorboard, "writer"):
        with tf.Graph().as_default():  # in eager mode there is no FileWriter
            tensorboard.writer = tf.compat.v1.summary.FileWriter(tensorboard.log_dir, flush_secs=0)
    return tensorboard.writer
