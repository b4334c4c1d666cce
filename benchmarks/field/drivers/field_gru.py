"""Runs one of the benchmark models on two GPUs, as its own main program would."""

from models.gru_benchmark import GRUBenchmark

GRUBenchmark().run_benchmark(gpus=2)
