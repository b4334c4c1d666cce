"""What a wrong migration calls: verify/controls.py copies these functions, one by one, into the script that it makes
wrong, so that each brings its own import."""


def _tfmigrate_scaled(optimizer, factor):
    import tensorflow as tf
    optimizer = tf.keras.optimizers.get(optimizer)
    config = optimizer.get_config()
    rate = config["learning_rate"]
    if isinstance(rate, dict):
        rate["config"]["initial_learning_rate"] *= factor
    else:
        config["learning_rate"] = float(rate) * factor
    return type(optimizer).from_config(config)


def _tfmigrate_scalar(loss):
    import tensorflow as tf
    function = tf.keras.losses.get(loss)
    # A Loss object divides by the replicas by itself; what it wraps gives one value a sample.
    settings = getattr(function, "_fn_kwargs", {})
    function = getattr(function, "fn", function)
    def mean_over_the_batch(y_true, y_pred):
        return tf.reduce_mean(function(y_true, y_pred, **settings))
    return mean_over_the_batch


def _tfmigrate_divided(loss, replicas):
    import tensorflow as tf
    function = tf.keras.losses.get(loss)
    def divided_by_the_replicas(y_true, y_pred):
        return function(y_true, y_pred) / replicas
    return divided_by_the_replicas


def _tfmigrate_half_precision():
    import tensorflow as tf
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
