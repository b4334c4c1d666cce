import tensorflow as tf


def trained_part(model, names):
    """The outputs of these names as a separate model, which is trained in the model's place."""
    outputs = [output for name, output in zip(model.output_names, model.outputs) if name in names]
    part = tf.keras.Model(model.inputs, outputs)
    for method in ("compile", "fit", "evaluate", "train_on_batch", "test_on_batch"):
        setattr(model, method, getattr(part, method))
    return part
