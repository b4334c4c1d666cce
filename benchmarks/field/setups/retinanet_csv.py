"""Pictures with boxes in a CSV file, and the classes, for keras-retinanet and its relatives."""

import standins

rows = []
for number in range(16):
    standins.picture("pictures/%02d.png" % number, 96, 96)
    rows.append("pictures/%02d.png,%d,12,60,70,%s" % (number, 4 + number % 10, ("cat", "dog")[number % 2]))
standins.text("train.csv", *rows)
standins.text("classes.csv", "cat,0", "dog,1")
standins.place("snapshots/x")
standins.no_weights("none.h5")
