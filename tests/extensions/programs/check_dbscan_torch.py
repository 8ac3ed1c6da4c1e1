"""DBSCAN of points in a plane, by distances of all pairs."""

import torch
from dbscan_torch import dbscan2d

torch.manual_seed(0)


def expected(points, eps, least):
    """(core points, the cluster of each core point by its smallest member, links of all pairs)"""
    near = (points[:, None] - points[None]).square().sum(2) <= eps * eps
    core = near.sum(1) >= least
    linked = near & core[:, None] & core[None]
    label = torch.arange(len(points), device=points.device)
    while True:
        smallest = torch.where(linked, label[None], len(points)).amin(1)
        updated = torch.where(core, torch.minimum(label, smallest), label)
        if torch.equal(updated, label):
            return core, label, near
        label = updated


for count, eps, least in ((400, 0.12, 5), (400, 0.3, 1), (150, 0.05, 3), (1000, 0.1, 8)):
    centers = torch.rand(6, 2, device="cuda") * 4
    points = (
        centers[torch.randint(0, 6, (count,), device="cuda")]
        + torch.randn(count, 2, device="cuda") * 0.25
    )
    labels = dbscan2d(points, eps, least).long()
    core, smallest, near = expected(points, eps, least)
    # The same partition of core points, numbered from 0.
    pairs = torch.stack([labels[core], smallest[core]]).unique(dim=1)
    clusters = smallest[core].unique()
    assert pairs.shape[1] == len(clusters) == len(labels[core].unique())
    assert torch.equal(labels[core].unique(), torch.arange(len(clusters), device="cuda"))
    # A border point has the cluster of a core point that it is near to; any other is noise.
    for point in torch.nonzero(~core)[:, 0].tolist():
        around = labels[near[point] & core]
        assert labels[point] in around if len(around) else labels[point] == -1
print("right")
