"""Runs the benchmark model on two GPUs, on fewer samples than its own main program would."""

from models.xception_benchmark import XceptionBenchmark

benchmark = XceptionBenchmark()
benchmark.num_samples = 8
benchmark.batch_size = 4
benchmark.epochs = 2
benchmark.run_benchmark(gpus=2)
