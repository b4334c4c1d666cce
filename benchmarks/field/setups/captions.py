"""Words, encoded pictures, and samples of a picture, the words so far and the word that follows."""

import pickle
import random

import numpy
import standins

WORDS = ["<start>", "<end>", "<UNK>"] + ["word%02d" % number for number in range(37)]


def keep(path, value):
    with open(standins.place(path), "wb") as file:
        pickle.dump(value, file, protocol=2)


keep("data/vocab_train.p", set(WORDS))
for part, count in (("train", 48), ("valid", 16)):
    names = ["%s_%d.jpg" % (part, number) for number in range(8)]
    keep("data/encoded_%s_images.p" % part, {name: numpy.random.rand(2048).astype("float32") for name in names})
    samples = []
    for _ in range(count):
        text = [random.randrange(len(WORDS)) for _ in range(random.randint(1, 8))]
        samples.append({"image_id": random.choice(names), "input": text, "output": random.randrange(len(WORDS))})
    keep("data/samples_%s.p" % part, samples)
standins.place("models/x")
