"""Builds a text classifier, spreads it over two GPUs and trains it, on made-up sentences."""

import random

from kashgari.embeddings import CustomEmbedding
from kashgari.tasks.classification import CNNModel

words = ["word%d" % number for number in range(12)]
chosen = random.Random(3)
sentences = [[chosen.choice(words) for _ in range(8)] for _ in range(64)]
classes = [("few", "many")[sentence.count("word0") > 0] for sentence in sentences]

classifier = CNNModel(CustomEmbedding("made-up", sequence_length=8, embedding_size=6))
classifier.build_model(sentences, classes)
classifier.build_multi_gpu_model(gpus=2)
classifier.fit(sentences, classes, batch_size=8, epochs=1)
