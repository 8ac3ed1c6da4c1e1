"""Products and convolutions in half types are those of float32, rounded once; prints how many agree."""

import sys

import torch
import torch.nn.functional as F

DEVICE = "mps" if "--mps" in sys.argv else "cuda"
compared = 0


def draw(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes)


def same(got: torch.Tensor, wide: torch.Tensor, what: str) -> None:
    global compared
    want = wide.to(got.dtype)
    assert got.cpu().equal(want), f"{what}: {(got.cpu().float() - want.float()).abs().max()}"
    assert got.stride() == want.stride(), (what, got.stride(), want.stride())
    compared += 1


def check(dtype: torch.dtype) -> None:
    def both(*tensors: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        narrow = [tensor.to(dtype) for tensor in tensors]
        return [n.to(DEVICE) for n in narrow], [n.float() for n in narrow]

    a, b, c = draw(33, 65), draw(65, 17), draw(33, 17)
    (x, y, z), (wx, wy, wz) = both(a, b, c)
    same(x @ y, wx @ wy, "mm")
    same(
        torch.addmm(z, x, y, beta=0.5, alpha=2), torch.addmm(wz, wx, wy, beta=0.5, alpha=2), "addmm"
    )
    same(z.clone().addmm_(x, y), wz.addmm(wx, wy), "addmm_")
    out = torch.empty(0, dtype=dtype, device=DEVICE)
    assert torch.mm(x, y, out=out) is out
    same(out, wx @ wy, "mm, out=")
    same(x @ y[:, 0], wx @ wy[:, 0], "mv")
    (x, y), (wx, wy) = both(draw(3, 9, 70), draw(3, 70, 5))
    same(x @ y, wx @ wy, "bmm")

    image, kernel, bias = draw(2, 8, 9, 9), draw(12, 4, 3, 3), draw(12)
    for layout in (torch.contiguous_format, torch.channels_last):
        (x, k, s), (wx, wk, ws) = both(image, kernel, bias)
        x, wx = x.contiguous(memory_format=layout), wx.contiguous(memory_format=layout)
        for tensor in (x, k, s, wx, wk, ws):
            tensor.requires_grad_()
        got = F.conv2d(x, k, s, padding=1, groups=2)
        want = F.conv2d(wx, wk, ws, padding=1, groups=2)
        same(got.detach(), want.detach(), f"conv2d {layout}")
        gradient = draw(*want.shape).to(dtype)
        got.backward(gradient.to(DEVICE))
        want.backward(gradient.float())
        for name, tensor, wide in (("input", x, wx), ("weight", k, wk), ("bias", s, ws)):
            same(tensor.grad, wide.grad, f"conv2d {layout}, gradient of {name}")

    (x, y), (wx, wy) = both(draw(2, 3, 8, 8), draw(2, 5, 5, 2))
    same(F.grid_sample(x, y, align_corners=True), F.grid_sample(wx, wy, align_corners=True), "grid")

    (x, y), _ = both(a, b)
    for wrong in (lambda: x @ y.float(), lambda: torch.addmm(torch.zeros(17, device=DEVICE), x, y)):
        try:
            wrong()
        except RuntimeError as error:
            assert "dtype" in str(error), error
        else:
            raise AssertionError("types were mixed")


torch.manual_seed(0)
for name in [word for word in sys.argv[1:] if word != "--mps"]:
    check(getattr(torch, name))
print("compared", compared)
