"""Keras's own function, where the program has a copy that looks for GPUs in the session."""

