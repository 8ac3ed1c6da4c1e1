"""From a model to an artefact that is verified and says what it needs."""
