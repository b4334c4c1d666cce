"""Runs one of the benchmark models on two GPUs, as its own main program would."""

from models.lstm_benchmark import LstmBenchmark

LstmBenchmark().run_benchmark(gpus=2)
