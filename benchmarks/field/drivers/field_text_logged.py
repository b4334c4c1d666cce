"""Runs the benchmark model that writes a log on two GPUs, on made-up text in the place of a download."""

import random

from models import dataset_utils
from models.lstm_text_generation import LstmBenchmark

words = random.Random(1)
TEXT = " ".join("".join(words.choice("abcdefgh") for _ in range(words.randint(2, 7))) for _ in range(400))
dataset_utils.get_dataset = lambda name: TEXT
LstmBenchmark("nietzsche").run_benchmark(gpus=2, epochs=2)
