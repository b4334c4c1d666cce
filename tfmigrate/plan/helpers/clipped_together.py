import tensorflow as tf


def clipped_together(optimizer):
    """Keras 3 clips each replica's gradients: here their sum is clipped, as Keras 2 does."""
    apply = getattr(optimizer, "apply", None)
    if apply is None:
        return optimizer  # Keras 2

    def apply_sum(grads, trainable_variables=None):
        replica = tf.distribute.get_replica_context()
        pairs = zip(grads, trainable_variables)
        grads, variables = zip(*((grad, variable) for grad, variable in pairs if grad is not None))
        grads = replica.all_reduce("sum", [tf.convert_to_tensor(grad) for grad in grads])
        if optimizer.clipnorm:
            grads = [tf.clip_by_norm(grad, optimizer.clipnorm) for grad in grads]
        if optimizer.global_clipnorm:
            grads, _ = tf.clip_by_global_norm(grads, optimizer.global_clipnorm)
        if optimizer.clipvalue:
            limit = optimizer.clipvalue
            grads = [tf.clip_by_value(grad, -limit, limit) for grad in grads]
        apply([grad / replica.num_replicas_in_sync for grad in grads], variables)

    optimizer.apply = apply_sum
    return optimizer
