"""Pictures of one object each, its mask, weights, and the clicks inside and outside of it, as .npy files."""

import numpy
import standins

SIDE, COUNT = 64, 16
masks = numpy.zeros((COUNT, SIDE, SIDE), "uint8")
inside, outside = masks.copy(), masks.copy()
for number in range(COUNT):
    row, column = numpy.random.randint(8, 32, 2)
    masks[number, row : row + 20, column : column + 24] = 1
    inside[number, row + 10, column + 12] = 1
    outside[number, 2, 2 + number] = 1
for name, array in (
    ("imgs", numpy.stack([standins.pixels(SIDE, SIDE) for _ in range(COUNT)])),
    ("masks", masks),
    ("weightMaps", numpy.ones((COUNT, SIDE, SIDE), "float32")),
    ("objectPoints", inside),
    ("pointOthers", outside),
    ("image_names", numpy.array(["%02d" % number for number in range(COUNT)])),
):
    numpy.save(standins.place("data/npyfiles/%s.npy" % name), array)
