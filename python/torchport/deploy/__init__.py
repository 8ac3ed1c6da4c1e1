"""From a model to an artefact that is verified, measured and run."""
