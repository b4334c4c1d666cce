"""What the setup files make stand-in data with: pictures, folders of them, files of weights that hold nothing.

Runs in old interpreters too: Python 3.5, NumPy, Pillow, h5py.
"""

import os

import numpy
from PIL import Image


def place(path):
    """The path, its folder made."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder)
    return path


def pixels(height, width, channels=3):
    """A soft gradient with noise over it; channels last, or none of them for one."""
    ramp = numpy.add.outer(numpy.linspace(0, 120, height), numpy.linspace(0, 80, width))
    shape = (height, width) if channels == 1 else (height, width, channels)
    noise = numpy.random.randint(0, 56, shape)
    return (noise + (ramp if channels == 1 else ramp[..., None])).astype("uint8")


def picture(path, height=64, width=64, channels=3):
    Image.fromarray(pixels(height, width, channels)).save(place(path), "PNG")  # versions of libjpeg decode differently
    return path


def mask(path, height=64, width=64, value=255):
    """A rectangle of the value on 0, in one channel."""
    array = numpy.zeros((height, width), "uint8")
    array[height // 4 : height // 2, width // 4 : width // 2] = value
    Image.fromarray(array).save(place(path), "PNG")
    return path


def classes(folder, names, each, height=64, width=64, channels=3, suffix=".jpg"):
    """`each` pictures in a folder for every name."""
    return [
        picture(os.path.join(folder, name, "%s_%03d%s" % (name, number, suffix)), height, width, channels)
        for name in names
        for number in range(each)
    ]


def no_weights(path):
    """An HDF5 file of weights, as Keras 2 writes it, of a model without layers: `by_name` finds nothing in it."""
    import h5py

    with h5py.File(place(path), "w") as file:
        file.attrs["layer_names"] = numpy.array([], dtype="S1")
        file.attrs["backend"] = b"tensorflow"
        file.attrs["keras_version"] = b"2.2.4"
    return path


def text(path, *lines):
    with open(place(path), "w") as file:
        file.write("".join(line + "\n" for line in lines))
    return path
