"""As much of OpenCV as training scripts call, on NumPy and Pillow. Pictures are BGR; sizes are (width, height)."""

import numpy as np
from PIL import Image

IMREAD_UNCHANGED, IMREAD_GRAYSCALE, IMREAD_COLOR = -1, 0, 1
INTER_NEAREST, INTER_LINEAR, INTER_CUBIC, INTER_AREA, INTER_LANCZOS4 = 0, 1, 2, 3, 4
BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT, BORDER_REFLECT_101 = 0, 1, 2, 4
FONT_HERSHEY_SIMPLEX, FONT_HERSHEY_PLAIN, LINE_AA = 0, 1, 16
COLOR_BGR2RGB = COLOR_RGB2BGR = 4
COLOR_BGR2GRAY, COLOR_RGB2GRAY, COLOR_GRAY2RGB, COLOR_GRAY2BGR = 6, 7, 8, 8
COLOR_BGR2HSV, COLOR_RGB2HSV, COLOR_HSV2BGR, COLOR_HSV2RGB = 40, 41, 54, 55
COLOR_RGB2LAB, COLOR_BGR2LAB, COLOR_LAB2RGB, COLOR_LAB2BGR = 45, 44, 57, 56
MORPH_ELLIPSE = 2
__version__ = "0"


def setNumThreads(count):
    pass


class ocl:
    @staticmethod
    def setUseOpenCL(on):
        pass


def imread(path, flags=IMREAD_COLOR):
    try:
        picture = Image.open(path)
    except (IOError, OSError):
        return None
    if flags == IMREAD_GRAYSCALE:
        return np.array(picture.convert("L"))
    if flags == IMREAD_UNCHANGED and picture.mode in ("L", "RGBA"):
        found = np.array(picture)
        return found if found.ndim == 2 else found[..., [2, 1, 0, 3]]
    return np.array(picture.convert("RGB"))[..., ::-1].copy()


def imwrite(path, array, parameters=None):
    array = np.clip(array, 0, 255).astype("uint8")
    Image.fromarray(array if array.ndim == 2 else array[..., ::-1]).save(path)
    return True


def _at(array, rows, columns):
    """Bilinear samples at fractional positions; the border is repeated."""
    height, width = array.shape[:2]
    rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, along = rows - top, columns - left
    if array.ndim == 3:
        down, along = down[..., None], along[..., None]
    above = array[top, left] * (1 - along) + array[top, right] * along
    below = array[bottom, left] * (1 - along) + array[bottom, right] * along
    return above * (1 - down) + below * down


def _like(result, array):
    if array.dtype == np.uint8:
        return np.clip(np.rint(result), 0, 255).astype("uint8")
    return result.astype(array.dtype)


def resize(array, dsize=None, dst=None, fx=0, fy=0, interpolation=INTER_LINEAR):
    array = np.asarray(array)
    height, width = array.shape[:2]
    if not dsize:
        dsize = (int(round(width * fx)), int(round(height * fy)))
    columns = (np.arange(dsize[0]) + 0.5) * width / dsize[0] - 0.5
    rows = (np.arange(dsize[1]) + 0.5) * height / dsize[1] - 0.5
    rows, columns = np.meshgrid(rows, columns, indexing="ij")
    if interpolation == INTER_NEAREST:
        rows, columns = np.rint(rows).clip(0, height - 1).astype(int), np.rint(columns).clip(0, width - 1).astype(int)
        found = array[rows, columns]
    else:
        found = _like(_at(array.astype("float64"), rows, columns), array)
    return found[..., 0] if found.ndim == 3 and found.shape[2] == 1 else found


def cvtColor(array, code):
    array = np.asarray(array)
    if code == COLOR_BGR2RGB:
        return array[..., ::-1].copy()
    if code in (COLOR_BGR2GRAY, COLOR_RGB2GRAY):
        shares = np.array([0.114, 0.587, 0.299] if code == COLOR_BGR2GRAY else [0.299, 0.587, 0.114])
        return _like((array[..., :3] * shares).sum(-1), array)
    if code == COLOR_GRAY2RGB:
        return np.repeat(array.reshape(array.shape[:2] + (1,)), 3, 2)
    if code in (COLOR_BGR2HSV, COLOR_RGB2HSV):
        rgb = array[..., ::-1] if code == COLOR_BGR2HSV else array
        hsv = np.array(Image.fromarray(np.ascontiguousarray(rgb.astype("uint8"))).convert("HSV")).astype("float64")
        hsv[..., 0] *= 180.0 / 256.0
        return hsv.astype(array.dtype)
    if code in (COLOR_HSV2BGR, COLOR_HSV2RGB):
        hsv = np.array(array, dtype="float64")
        hsv[..., 0] = (hsv[..., 0] % 180) * 256.0 / 180.0
        rgb = np.array(Image.fromarray(np.clip(hsv, 0, 255).astype("uint8"), "HSV").convert("RGB"))
        return (rgb[..., ::-1] if code == COLOR_HSV2BGR else rgb).astype(array.dtype)
    return array.copy()


def flip(array, way):
    array = np.asarray(array)
    if way == 0:
        return array[::-1].copy()
    return array[:, ::-1].copy() if way > 0 else array[::-1, ::-1].copy()


def getRotationMatrix2D(center, angle, scale):
    turn = np.deg2rad(angle)
    a, b = scale * np.cos(turn), scale * np.sin(turn)
    x, y = center
    return np.array([[a, b, (1 - a) * x - b * y], [-b, a, b * x + (1 - a) * y]])


def warpAffine(array, matrix, dsize, flags=INTER_LINEAR, borderMode=BORDER_CONSTANT, borderValue=0):
    return warpPerspective(array, np.vstack([matrix, [0, 0, 1]]), dsize, flags, borderMode, borderValue)


def warpPerspective(array, matrix, dsize, flags=INTER_LINEAR, borderMode=BORDER_CONSTANT, borderValue=0):
    array = np.asarray(array)
    columns, rows = np.meshgrid(np.arange(dsize[0]), np.arange(dsize[1]))
    points = np.linalg.inv(matrix).dot(np.stack([columns.ravel(), rows.ravel(), np.ones(rows.size)]))
    columns, rows = (points[:2] / points[2]).reshape((2,) + rows.shape)
    found = _like(_at(array.astype("float64"), rows, columns), array)
    if borderMode == BORDER_CONSTANT:
        outside = (rows < 0) | (rows > array.shape[0] - 1) | (columns < 0) | (columns > array.shape[1] - 1)
        color = np.asarray(borderValue)
        found[outside] = color if color.ndim == 0 else color[: array.shape[2]] if array.ndim == 3 else color[0]
    return found


def copyMakeBorder(array, top, bottom, left, right, borderType, value=0):
    widths = ((top, bottom), (left, right)) + ((0, 0),) * (array.ndim - 2)
    if borderType != BORDER_CONSTANT:
        return np.pad(array, widths, "reflect" if borderType != BORDER_REPLICATE else "edge")
    found = np.pad(array, widths, "constant")
    inside = np.pad(np.ones(array.shape[:2], bool), widths[:2], "constant")
    found[~inside] = value
    return found


def LUT(array, table):
    return np.asarray(table)[array]


def split(array):
    return [array[..., number] for number in range(array.shape[2])]


def merge(channels):
    return np.stack(channels, -1)


def addWeighted(one, alpha, other, beta, gamma):
    return _like(np.asarray(one) * alpha + np.asarray(other) * beta + gamma, np.asarray(one))


def getStructuringElement(shape, size):
    return np.ones((size[1], size[0]), "uint8")


def _spread(array, kernel, iterations, reduce):
    high, wide = kernel.shape[0] // 2, kernel.shape[1] // 2
    for _ in range(iterations):
        padded = np.pad(array, ((high, high), (wide, wide)) + ((0, 0),) * (array.ndim - 2), "edge")
        height, width = array.shape[:2]
        shifted = [
            padded[row : row + height, column : column + width]
            for row in range(2 * high + 1)
            for column in range(2 * wide + 1)
        ]
        array = reduce(shifted, axis=0)
    return array


def dilate(array, kernel, iterations=1):
    return _spread(array, kernel, iterations, np.max)


def erode(array, kernel, iterations=1):
    return _spread(array, kernel, iterations, np.min)


def GaussianBlur(array, size, sigma, *rest):
    return array.copy()


def _nothing(*arguments, **keywords):
    return None


putText = rectangle = imshow = waitKey = destroyAllWindows = line = circle = _nothing
