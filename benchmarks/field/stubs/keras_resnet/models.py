import tensorflow as tf

if int(tf.__version__.split(".")[0]) < 2:
    import keras
else:
    keras = tf.keras


def ResNet50(inputs, *arguments, **keywords):
    """Four outputs, at a quarter to a thirty-second of the size."""
    found, x = [], keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="stem")(inputs)
    for number in range(2, 6):
        name = "stage%d" % number
        x = keras.layers.Conv2D(8 * number, 3, strides=2, padding="same", activation="relu", name=name)(x)
        found.append(x)
    return keras.models.Model(inputs=inputs, outputs=found)


ResNet101 = ResNet152 = ResNet50
