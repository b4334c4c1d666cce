"""A small network in the place of one of 780 layers, which is too slow to build on a small machine: three pictures to
three unit vectors, side by side."""

import keras.backend as K
from config import channel, embedding_size, img_size
from keras.layers import BatchNormalization, Conv2D, Dense, GlobalAveragePooling2D, Input, Lambda, concatenate
from keras.models import Model

SHAPE = (img_size, img_size, channel)


def embedder():
    picture = Input(SHAPE)
    x = Conv2D(8, 3, strides=2, use_bias=False)(picture)
    x = Conv2D(16, 3, strides=2, activation="relu")(BatchNormalization()(x))
    return Model(picture, Dense(embedding_size)(GlobalAveragePooling2D()(x)))


def build_model():
    pictures = [Input(SHAPE, name=name) for name in ("anchor", "positive", "negative")]
    embed, unit = embedder(), Lambda(lambda x: K.l2_normalize(x, axis=-1), name="unit")
    return Model(inputs=pictures, outputs=concatenate([unit(embed(picture)) for picture in pictures], axis=-1))
