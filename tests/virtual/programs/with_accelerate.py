"""accelerate: the training loop of its guide, in one process or in several that it launches."""

from __future__ import annotations

import torch
from accelerate import Accelerator, dispatch_model, infer_auto_device_map
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    assert accelerator.device.type == "cuda"
    set_seed(0)
    x = torch.randn(64, 6)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    model, optimizer, loader = accelerator.prepare(
        model, optimizer, DataLoader(data, batch_size=8, shuffle=True)
    )
    for _ in range(15):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
    losses = accelerator.gather(loss.detach())
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        assert losses.numel() == accelerator.num_processes and losses.is_cuda
        assert losses.mean().item() < 0.5, losses
        print("processes", accelerator.num_processes, accelerator.distributed_type.value)
    if accelerator.num_processes == 1:
        whole = torch.nn.Sequential(*(torch.nn.Linear(100, 100) for _ in range(4)))
        x = torch.randn(2, 100)
        want = whole(x)
        places = infer_auto_device_map(whole, max_memory={0: "90KB", 1: "90KB", "cpu": "1GB"})
        spread = dispatch_model(whole, places)
        torch.testing.assert_close(spread(x).cpu(), want)
        print("places", *sorted({str(p) for p in places.values()}))
    accelerator.end_training()


if __name__ == "__main__":
    main()
