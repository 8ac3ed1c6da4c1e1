"""From a model to an artefact that is verified, measured and run."""

from torchport._lazy import exports as _exports

__getattr__, __all__ = _exports(
    __name__,
    {
        "ExportError": "artefact.errors",
        "Exported": "artefact.exporting",
        "NotVerified": "artefact.errors",
        "benchmark": "bench.measuring",
        "export": "artefact.exporting",
    },
)
