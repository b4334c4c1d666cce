import numpy as np


def rgb_to_hsv(array):
    """(..., 3) in 0 to 1, hue too."""
    array = np.asarray(array, dtype="float64")
    high, low = array.max(-1), array.min(-1)
    spread = high - low
    safe = np.where(spread > 0, spread, 1)
    red, green, blue = (array[..., number] for number in range(3))
    hue = np.where(
        high == red, (green - blue) / safe, np.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe)
    )
    hue = np.where(spread > 0, (hue / 6) % 1, 0)
    return np.stack([hue, np.where(high > 0, spread / np.where(high > 0, high, 1), 0), high], -1)


def hsv_to_rgb(array):
    hue, saturation, value = (np.asarray(array, dtype="float64")[..., number] for number in range(3))
    channels = []
    for shift in (5, 3, 1):
        place = (shift + hue * 6) % 6
        channels.append(value - value * saturation * np.clip(np.minimum(place, 4 - place), 0, 1))
    return np.stack(channels, -1)
