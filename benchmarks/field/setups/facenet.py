"""Faces of four people: a list of files by person, and two pairs to compare."""

import standins

PEOPLE = ("ann", "bob", "cid", "dee")
files = standins.classes("people", PEOPLE, 100, 32, 32)
standins.text("cls_train.txt", *["%d;%s" % (PEOPLE.index(file.split("/")[1]), file) for file in files])
for name in PEOPLE[:2]:
    for number in (1, 2):
        standins.picture("lfw/%s/%s_%04d.jpg" % (name, name, number), 32, 32)
standins.text("model_data/lfw_pair.txt", "2", "ann 1 2", "ann 1 bob 2")
standins.no_weights("model_data/facenet_mobilenet.h5")
