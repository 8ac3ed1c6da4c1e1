"""From a model to an artefact that is verified and says what it needs."""

from torchport.deploy.export.errors import ExportError, NotVerified
from torchport.deploy.export.exporting import Exported, export

__all__ = ["ExportError", "Exported", "NotVerified", "export"]
