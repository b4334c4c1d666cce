"""Runs one of the benchmark models on two GPUs, as its own main program would."""

from models.cifar10_cnn_benchmark import Cifar10CnnBenchmark

Cifar10CnnBenchmark().run_benchmark(gpus=2)
