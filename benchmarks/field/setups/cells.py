"""Pictures of cells with masks and labels, and a table of folds."""

import numpy
import standins
from PIL import Image

rows = ["img_id,fold,cluster,source"]
for number in range(12):
    standins.picture("data/pictures/p%02d.png" % number, 32, 32)
    mask = numpy.zeros((32, 32, 3), "uint8")
    mask[8:20, 6:24] = (0, 255, 0)
    Image.fromarray(mask).save(standins.place("data/masks/p%02d.png" % number))
    label = numpy.zeros((32, 32), "uint8")
    label[8:20, 6:24] = 1
    Image.fromarray(label).save(standins.place("data/labels/p%02d.tif" % number))
    rows.append("p%02d,%d,a,made" % (number, number % 4))
standins.text("data/folds.csv", *rows)
standins.place("nn_models/x")
