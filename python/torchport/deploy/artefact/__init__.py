"""Exports a model to an artefact that is compared with the model and contains a contract."""
