"""Runs an artefact on several machines: blocks of the input over workers, results in order."""
