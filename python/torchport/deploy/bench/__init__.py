"""Measures a model in each deployment mode: peak memory, latency, throughput."""
