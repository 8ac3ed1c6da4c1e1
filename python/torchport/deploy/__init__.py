"""Turns a model into an artefact that is verified, and measures the ways to run a model."""
