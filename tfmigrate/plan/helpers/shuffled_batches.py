import tensorflow as tf


def shuffled_batches(arrays, count, batch_size, seed=None):
    """Batches of all rows, in a new order each epoch; rows are gathered by index, not copied."""
    full = count % batch_size == 0  # then TensorFlow can know the shape of each batch
    indices = tf.data.Dataset.range(count).shuffle(count, seed).batch(batch_size, drop_remainder=full)
    with tf.device("/cpu:0"):  # otherwise the arrays are copied to the first GPU
        columns = tf.data.Dataset.from_tensors(arrays).repeat()
    rows = tf.data.Dataset.zip((indices, columns)).map(
        lambda index, columns: tf.nest.map_structure(lambda column: tf.gather(column, index), columns),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    return rows.prefetch(tf.data.AUTOTUNE)
