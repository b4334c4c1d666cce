def twin_optimizer(optimizer):
    """An optimizer for another model, with the same step count and rate, as in Keras 2.3."""
    twin = type(optimizer).from_config(optimizer.get_config())
    # Adam and `decay` read it; no public name is the same in Keras 2 and 3.
    twin._iterations = optimizer.iterations
    for rate in ("_learning_rate", "_hyper"):  # of Keras 2 and 3; of TensorFlow 2.10 and older
        if hasattr(optimizer, rate):
            setattr(twin, rate, getattr(optimizer, rate))
    return twin
