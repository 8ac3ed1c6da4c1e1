"""Watches a model run: where its tensors are, what mixes devices, what is copied."""
