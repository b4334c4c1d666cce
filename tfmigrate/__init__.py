"""Take Keras `multi_gpu_model` out, put `tf.distribute.MirroredStrategy` in, and prove that training is the same."""

__version__ = "0.1.0"
