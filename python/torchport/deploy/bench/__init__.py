"""A model measured in every way it can be run: memory, latency, throughput."""

from torchport._lazy import exports as _exports

__getattr__, __all__ = _exports(
    __name__,
    {"Ratio": "statistics", "Report": "report", "Row": "report", "benchmark": "measuring"},
)
