"""Keras's own function, where the program has a copy that looks for GPUs in the session."""

from keras.utils import multi_gpu_model

__all__ = ["multi_gpu_model"]
