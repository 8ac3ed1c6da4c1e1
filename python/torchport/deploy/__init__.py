"""From a model to an artefact that is verified, measured and run."""

from torchport.deploy.bench import benchmark
from torchport.deploy.export import Exported, ExportError, NotVerified, export

__all__ = ["ExportError", "Exported", "NotVerified", "benchmark", "export"]
