"""Pure mathematics of persistence: decay, promotion, the times at which something is visible, and
smoothing of noisy evidence. No I/O."""
