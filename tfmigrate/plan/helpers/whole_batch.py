import tensorflow as tf


def whole_batch(function):
    """`function` computed on the batches of all replicas together, repeated for each sample."""

    def of_all_replicas(y_true, y_pred):
        rows = tf.shape(y_pred)[:1]
        floats = tf.keras.backend.floatx()
        y_true, y_pred = tf.cast(y_true, floats), tf.cast(y_pred, floats)
        replica = tf.distribute.get_replica_context()
        if replica is not None:
            y_true = replica.all_gather(tf.identity(y_true), axis=0)
            y_pred = replica.all_gather(tf.identity(y_pred), axis=0)
        else:  # Keras 3 asks for the shapes, with the rows of one replica
            count = tf.distribute.get_strategy().num_replicas_in_sync
            y_true, y_pred = tf.repeat(y_true, count, axis=0), tf.repeat(y_pred, count, axis=0)
        return tf.fill(rows, tf.reduce_mean(function(y_true, y_pred)))

    of_all_replicas.__name__ = function.__name__
    return of_all_replicas
