import tensorflow as tf


def replicated(model):
    """A copy of a model in the current scope; the two share their weights."""

    def cloned(layer):
        if isinstance(layer, (tf.keras.layers.Activation, tf.keras.layers.Lambda)):
            return layer  # no weights, and a function that is not in the configuration
        return layer.__class__.from_config(layer.get_config())

    copy = tf.keras.models.clone_model(model, clone_function=cloned)
    if len(copy.weights) != len(model.weights):
        raise ValueError("a layer of this model also belongs to a model inside it: build both in the strategy's scope")
    # Each method below starts with the model's weights and copies the new ones back.
    running = []

    def layers(part):
        return [layer for layer in getattr(part, "layers", ()) if layer.weights]

    def send(origin, target):
        for layer, same in zip(layers(origin), layers(target)):
            same.set_weights(layer.get_weights())

    def freeze(target, origin):
        target.trainable = origin.trainable
        for layer, same in zip(layers(target), layers(origin)):
            freeze(layer, same)

    def shared(name):
        method = getattr(copy, name)

        def call(*args, **kwargs):
            if running:  # fit() calls evaluate()
                return method(*args, **kwargs)
            running.append(name)
            try:
                send(model, copy)
                if name == "compile":
                    freeze(copy, model)
                elif name == "fit":
                    back = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: send(copy, model))
                    kwargs["callbacks"] = [back, *(kwargs.get("callbacks") or ())]
                return method(*args, **kwargs)
            finally:
                send(copy, model)
                running.clear()

        return call

    saving = ("load_weights", "save", "save_weights")
    for name in ("compile", "fit", "train_on_batch", "evaluate", "predict", "predict_on_batch", *saving):
        setattr(copy, name, shared(name))
    send(model, copy)
    return copy
