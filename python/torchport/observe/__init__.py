"""Watches a run of a model: where its tensors are, what mixes devices, and what is copied."""
