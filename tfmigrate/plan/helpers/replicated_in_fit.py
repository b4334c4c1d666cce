import tensorflow as tf


def replicated(model):
    """A copy of a model, made in the scope round the call; fit() keeps their weights the same."""

    def cloned(layer):
        if isinstance(layer, (tf.keras.layers.Activation, tf.keras.layers.Lambda)):
            return layer  # no weights, and a function that no configuration holds
        return layer.__class__.from_config(layer.get_config())

    copy = tf.keras.models.clone_model(model, clone_function=cloned)
    if len(copy.weights) != len(model.weights):
        raise ValueError("a layer of this model also belongs to a model inside it: build both in the strategy's scope")
    fit = copy.fit

    def send(origin, target):
        parts = ([layer for layer in part.layers if layer.weights] for part in (origin, target))
        for layer, same in zip(*parts):
            same.set_weights(layer.get_weights())

    def shared_fit(*args, callbacks=None, **kwargs):
        send(model, copy)
        back = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: send(copy, model))
        try:
            return fit(*args, callbacks=[back, *(callbacks or ())], **kwargs)
        finally:
            send(copy, model)

    copy.fit = shared_fit
    return copy
