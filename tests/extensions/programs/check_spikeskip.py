"""Products and convolutions of spikes (what is above zero) beside dense ones, in four types, summed in float."""

# A module that is built for torch is found once torch is there.
import torch  # isort: skip
import spikeskip_cuda_engine as engine
from torch.nn.functional import conv2d

torch.manual_seed(0)
torch.backends.cudnn.allow_tf32 = False
for dtype, tolerance in (
    (torch.double, 1e-4),
    (torch.float, 1e-4),
    (torch.half, 2e-2),
    (torch.bfloat16, 1e-1),
):
    batch, inputs, outputs, steps = 37, 70, 45, 3
    spikes = (torch.rand(steps, batch, inputs, device="cuda") < 0.2) * torch.rand(
        steps, batch, inputs, device="cuda"
    )
    spikes = spikes.to(dtype)
    x = spikes[0]
    weight = torch.randn(outputs, inputs, device="cuda").to(dtype)
    turned = weight.T.contiguous()
    plain = spikes.double() @ turned.double()

    offsets, columns, values = engine.dense_to_csr_gpu(x)
    count = int((x != 0).sum())
    rows = x.to_sparse_csr()
    assert torch.equal(offsets, rows.crow_indices().int())
    assert torch.equal(columns[:count], rows.col_indices().int())
    assert torch.equal(values[:count], rows.values())

    room = [
        torch.empty(n, dtype=torch.int, device="cuda") for n in (batch, batch + 1, batch * inputs)
    ]
    room.append(torch.empty(batch * inputs, dtype=dtype, device="cuda"))
    sizes = (batch, inputs, outputs)
    for ours in (
        engine.forward(x, weight),
        engine.csr_forward(offsets, columns, values, weight, *sizes),
        engine.csr_coalesced_forward(offsets, columns, values, turned, *sizes),
        engine.csr_shared_forward(offsets, columns, values, weight, *sizes),
        engine.fused_forward(x, turned),
        engine.sparse_forward(x, turned, *room),
    ):
        assert ours.dtype is dtype
        torch.testing.assert_close(ours.double(), plain[0], rtol=tolerance, atol=tolerance)
    ours = engine.sparse_multistep_forward(spikes, turned, *room, steps)
    torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)

    image = (
        (torch.rand(2, 3, 19, 23, device="cuda") < 0.3) * torch.rand(2, 3, 19, 23, device="cuda")
    ).to(dtype)
    kernel = torch.randn(5, 3, 3, 2, device="cuda").to(dtype)
    for stride, padding in (((1, 1), (1, 1)), ((2, 1), (0, 2))):
        plain_image = conv2d(image.double(), kernel.double(), stride=stride, padding=padding)
        for convolution in (engine.sparse_conv2d_forward, engine.sparse_conv2d_tiled_forward):
            ours = convolution(image, kernel, *stride, *padding)
            torch.testing.assert_close(ours.double(), plain_image, rtol=tolerance, atol=tolerance)
print("right")
