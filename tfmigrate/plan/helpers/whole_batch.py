import tensorflow as tf


def whole_batch(function):
    """`function` computed on the batches of all replicas together, repeated once per sample."""

    def of_all_replicas(y_true, y_pred):
        replica = tf.distribute.get_replica_context()

        def gathered(batch):
            batch = tf.cast(batch, tf.keras.backend.floatx())
            if replica is not None:
                rows = replica.all_gather(tf.identity(batch), axis=0)
            else:  # Keras 3 infers the shapes, with the rows of one replica
                rows = tf.repeat(batch, tf.distribute.get_strategy().num_replicas_in_sync, axis=0)
            return tf.ensure_shape(rows, tf.TensorShape([None]).concatenate(batch.shape[1:]))

        loss = function(gathered(y_true), gathered(y_pred))
        return tf.fill(tf.shape(y_pred)[:1], tf.reduce_mean(loss))

    of_all_replicas.__name__ = function.__name__
    return of_all_replicas
