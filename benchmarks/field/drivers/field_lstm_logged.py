"""Runs the benchmark model that writes a log on two GPUs, on fewer samples."""

from models.lstm_synthetic import LstmBenchmark

benchmark = LstmBenchmark()
benchmark.num_samples = 512
benchmark.run_benchmark(gpus=2, epochs=2)
