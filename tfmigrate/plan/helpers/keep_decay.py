def keep_decay(optimizer, decay):
    """The optimizer, with the decay that OptimizerDecay uses to divide its rate."""
    optimizer.rate_decay = float(decay)
    return optimizer
