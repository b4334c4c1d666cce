import numpy as np
from PIL import Image


def imread(path, as_gray=False):
    found = np.array(Image.open(path))
    return found.mean(-1) / 255 if as_gray and found.ndim == 3 else found


def imsave(path, array, *arguments, **keywords):
    Image.fromarray(np.asarray(array).astype("uint8")).save(path)
