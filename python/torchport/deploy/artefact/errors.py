"""What an export says when it cannot go on."""

from __future__ import annotations


class ExportError(RuntimeError):
    """A model, a checkpoint or an input with which there is no artefact; says what to change."""


class NotVerified(ExportError):
    """The artefact was written and does not compute what the model computes; it was taken away.

    ``findings`` are the differences, one line each; ``culprit`` the node that they begin at, or None.
    """

    def __init__(self, message: str, findings: list[str], culprit: str | None = None):
        super().__init__(message)
        self.findings = findings
        self.culprit = culprit
