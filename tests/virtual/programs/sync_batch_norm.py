"""SyncBatchNorm in two processes learns what BatchNorm does in one."""

import copy

import torch
import torch.distributed as dist
import torch.nn as nn
from ranks import spawn

torch.manual_seed(0)
BATCH = torch.randn(8, 3, 5, 5)


def net() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU())


def trained(model: nn.Module, batches: list[torch.Tensor], scale: float) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    outputs = []
    for batch in batches:
        out = model(batch)
        outputs.append(out.detach().cpu())
        optimizer.zero_grad()
        (out.square().sum() * scale).backward()
        optimizer.step()
    return outputs


def body(rank: int) -> None:
    device = torch.device("cuda", rank)
    alone = net()
    # Parts of different sizes: each counts by its size.
    parts = (slice(0, 3), slice(3, 8))
    model = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(alone)).to(device)
    assert isinstance(model[1], nn.SyncBatchNorm)
    # DDP takes the mean of the gradients; the sum is asked for.
    double = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    mine = trained(double, [BATCH[parts[rank]].to(device) + i for i in range(3)], 0.02)
    want = trained(alone, [BATCH + i for i in range(3)], 0.01)
    for ours, theirs in zip(mine, want, strict=True):
        torch.testing.assert_close(ours, theirs[parts[rank]], rtol=1e-4, atol=1e-5)
    for (name, ours), theirs in zip(
        model.state_dict().items(), alone.state_dict().values(), strict=True
    ):
        assert ours.device == device, name
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5)
    model.eval()
    alone.eval()
    torch.testing.assert_close(model(BATCH.to(device)).cpu(), alone(BATCH), rtol=1e-4, atol=1e-5)
    if dist.get_rank() == 0:
        print("passed: sync batch norm")


if __name__ == "__main__":
    spawn(body)
