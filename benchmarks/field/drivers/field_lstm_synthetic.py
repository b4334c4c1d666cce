"""Runs the benchmark model on two GPUs, on fewer samples than its own main program would."""

from models.lstm_synthetic import LstmBenchmark

benchmark = LstmBenchmark()
benchmark.num_samples = 512
benchmark.epochs = 2
benchmark.run_benchmark(gpus=2)
