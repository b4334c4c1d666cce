"""Runs one of the benchmark models on two GPUs, as its own main program would."""

from models.mnist_mlp_benchmark import MnistMlpBenchmark

MnistMlpBenchmark().run_benchmark(gpus=2)
