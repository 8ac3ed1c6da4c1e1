import torch
from torch_discounted_cumsum import discounted_cumsum_left, discounted_cumsum_right

torch.manual_seed(0)
gamma = torch.rand(13, device="cuda") * 0.9 + 0.05


def expected(x):
    sums = [x[:, 0]]
    for column in x.unbind(1)[1:]:
        sums.append(column + gamma * sums[-1])
    return torch.stack(sums, 1)


x = torch.randn(13, 1000, device="cuda", requires_grad=True)
for ours, plain in (
    (discounted_cumsum_left(x, gamma), expected(x)),
    (discounted_cumsum_right(x, gamma), expected(x.flip(1)).flip(1)),
):
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-4)
    (one,) = torch.autograd.grad(ours.square().sum(), x)
    (two,) = torch.autograd.grad(plain.square().sum(), x)
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-3)
print("right")
