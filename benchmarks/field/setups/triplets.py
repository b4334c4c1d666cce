"""Faces, and triplets of them: two of one person, one of another."""

import json
import random

import standins

for folder, out, count in (
    ("data/img_align_celeba", "data/train_triplets.json", 16),
    ("data/lfw_funneled", "data/lfw_val_triplets.json", 8),
):
    names = [standins.picture("%s/%d.jpg" % (folder, number), 80, 80).split("/")[-1] for number in range(12)]
    with open(standins.place(out), "w") as file:
        json.dump([dict(zip("apn", random.sample(names, 3))) for _ in range(count)], file)
standins.place("models/x")
