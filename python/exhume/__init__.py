"""Exhume recovers a neural network from its inputs and outputs."""
