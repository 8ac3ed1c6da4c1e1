"""From a model to an artefact that is verified and says what it needs."""

from torchport._lazy import exports as _exports

__getattr__, __all__ = _exports(
    __name__,
    {
        "ExportError": "errors",
        "Exported": "exporting",
        "NotVerified": "errors",
        "export": "exporting",
    },
)
