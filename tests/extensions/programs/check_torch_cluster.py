"""Operators on point clouds and graphs, by distances of all pairs."""

import torch
import torch_cluster

torch.manual_seed(0)
TYPES = (torch.float, torch.double)


def points(count, dtype, batches=3):
    """(coordinates, sorted batch of each point)"""
    batch = torch.arange(count, device="cuda") * batches // count
    return torch.randn(count, 3, dtype=dtype, device="cuda"), batch


for dtype in TYPES:
    x, batch_x = points(60, dtype)
    y, batch_y = points(25, dtype)
    distances = (y[:, None] - x[None]).square().sum(2)
    apart = batch_y[:, None] != batch_x[None]

    # The nearest neighbours, and those by angle.
    query, neighbour = torch_cluster.knn(x, y, 4, batch_x, batch_y)
    plain = distances.masked_fill(apart, float("inf")).topk(4, 1, largest=False)
    assert torch.equal(query, torch.arange(25, device="cuda").repeat_interleave(4))
    assert torch.equal(neighbour.view(25, 4), plain.indices)
    _, neighbour = torch_cluster.knn(x, y, 4, batch_x, batch_y, cosine=True)
    cosines = torch.nn.functional.cosine_similarity(y[:, None], x[None], dim=2)
    plain = cosines.masked_fill(apart, -2.0).topk(4, 1)
    assert torch.equal(neighbour.view(25, 4), plain.indices)

    # Those within a radius, at most so many.
    found = torch_cluster.radius(x, y, 1.5, batch_x, batch_y, max_num_neighbors=100)
    plain = torch.nonzero((distances < 1.5**2) & ~apart).T
    assert torch.equal(found, plain)
    found = torch_cluster.radius(x, y, 1.5, batch_x, batch_y, max_num_neighbors=2)
    assert (torch.bincount(found[0]) <= 2).all()
    assert len(found[0]) == torch.bincount(plain[0], minlength=25).clamp(max=2).sum()

    # The nearest of y for each x.
    cluster = torch_cluster.nearest(x, y, batch_x, batch_y)
    assert torch.equal(cluster, distances.masked_fill(apart, float("inf")).argmin(0))

    # Farthest points, one by one.
    chosen = torch_cluster.fps(x, batch_x, ratio=0.25, random_start=False)
    wanted = []
    for number in range(3):
        places = torch.nonzero(batch_x == number)[:, 0]
        part = x[places]
        nearest = torch.full((len(part),), float("inf"), dtype=dtype, device="cuda")
        at = 0
        for _ in range(5):
            wanted.append(int(places[at]))
            nearest = torch.minimum(nearest, (part - part[at]).square().sum(1))
            at = int(nearest.argmax())
    assert chosen.tolist() == wanted, (chosen, wanted)

    # Cells of a grid.
    size = torch.tensor([0.5, 0.8, 1.0], dtype=dtype, device="cuda")
    start, end = x.amin(0), x.amax(0)
    cells = ((x - start) / size).long()
    counts = ((end - start) / size).long() + 1
    strides = torch.cat([counts.new_ones(1), counts.cumprod(0)[:-1]])
    assert torch.equal(torch_cluster.grid_cluster(x, size), (cells * strides).sum(1))

# Matchings of a graph: pairs are neighbours, and none that is alone has a neighbour that is alone.
edges = torch.randint(0, 40, (2, 120), device="cuda")
row, col = torch.cat([edges, edges.flip(0)], 1).unique(dim=1)
linked = torch.zeros(40, 40, dtype=torch.bool, device="cuda")
linked[row, col] = True
linked.fill_diagonal_(False)
weights = torch.rand(40, 40, device="cuda")
weights = (weights + weights.T)[row, col]
for weight in (None, weights, weights.double()):
    cluster = torch_cluster.graclus_cluster(row, col, weight, 40)
    alone = torch.zeros(40, dtype=torch.bool, device="cuda")
    for number in cluster.unique().tolist():
        members = torch.nonzero(cluster == number)[:, 0].tolist()
        assert min(members) == number
        assert len(members) == 1 or (len(members) == 2 and linked[members[0], members[1]])
        alone[members] = len(members) == 1
    assert not (linked & alone[:, None] & alone[None]).any()

# Random walks go along edges; those with p and q close to 0 and infinity go straight back. Where a step may be
# refused and drawn again (p and q differ), the package draws it from another node's edges.
for p, q in ((1.0, 1.0), (0.5, 0.5), (0.5, 2.0), (1e-6, 1e6)):
    start = torch.arange(40, device="cuda")
    start = start[linked.any(1)]
    inner = row != col
    walks, taken = torch_cluster.random_walk(
        row[inner], col[inner], start, 20, p, q, num_nodes=40, return_edge_indices=True
    )
    assert torch.equal(walks[:, 0], start)
    assert torch.equal(col[inner][taken], walks[:, 1:])
    steps = 20 if p == q else 1
    assert torch.equal(row[inner][taken[:, :steps]], walks[:, :steps])
    if p < 1e-3:
        assert torch.equal(walks[:, 2:], walks[:, :-2])
print("right")
