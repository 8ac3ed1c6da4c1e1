"""Measures a model in each mode: memory, latency, throughput."""
