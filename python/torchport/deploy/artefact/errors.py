"""The errors of an export."""

from __future__ import annotations


class ExportError(RuntimeError):
    """The model, the checkpoint or the input cannot be exported; the message says what to do."""


class KeepsState(ExportError):
    """The results of the model depend on earlier calls."""


class NotVerified(ExportError):
    """The artefact does not compute what the model computes; the written file was deleted.

    Attributes:
        findings: The differences, one line each.
        first_wrong_node: The node with its operator, module and line; None if it is not known.
    """

    def __init__(self, message: str, findings: list[str], first_wrong_node: str | None = None):
        super().__init__(message)
        self.findings = findings
        self.first_wrong_node = first_wrong_node
