def keep_decay(optimizer, decay):
    """The optimizer, with the decay by which OptimizerDecay divides its rate."""
    optimizer.rate_decay = float(decay)
    return optimizer
