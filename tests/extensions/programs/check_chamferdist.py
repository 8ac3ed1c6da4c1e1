import torch
from chamferdist.chamfer import knn_points

torch.manual_seed(0)
one = torch.randn(2, 300, 3, device="cuda", requires_grad=True)
two = torch.randn(2, 200, 3, device="cuda", requires_grad=True)
found = knn_points(one, two, K=3)
distances = (one[:, :, None] - two[:, None]).square().sum(-1)
plain, places = distances.topk(3, 2, largest=False)
torch.testing.assert_close(found.dists, plain)
assert torch.equal(found.idx, places)
ours = torch.autograd.grad(found.dists.sum(), (one, two))
torch.testing.assert_close(ours, torch.autograd.grad(plain.sum(), (one, two)))
print("right")
