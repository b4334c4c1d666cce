import tensorflow as tf


def batch_dot(x, y, axes=None):
    """batch_dot() of Keras 2.2: a matrix product for each of the leading dimensions."""
    ranks = len(x.shape), len(y.shape)
    if ranks[1] < 4 or ranks[0] > ranks[1]:
        return tf.keras.backend.batch_dot(x, y, axes)  # means the same in all
    if axes is None:
        axes = ranks[0] - 1, ranks[1] - 2
    first, second = (axes, axes) if isinstance(axes, int) else axes
    for _ in range(ranks[1] - ranks[0]):
        x = tf.expand_dims(x, -1)
    product = tf.matmul(x, y, transpose_a=first != ranks[1] - 1, transpose_b=second == ranks[1] - 1)
    for _ in range(ranks[1] - ranks[0]):
        product = tf.squeeze(product, ranks[0] - 1)
    return product
