"""A model measured in every way it can be run: memory, latency, throughput."""

from torchport.deploy.bench.measuring import benchmark
from torchport.deploy.bench.report import Report, Row
from torchport.deploy.bench.statistics import Ratio

__all__ = ["Ratio", "Report", "Row", "benchmark"]
