"""A model measured in every way it can be run: memory, latency, throughput."""
