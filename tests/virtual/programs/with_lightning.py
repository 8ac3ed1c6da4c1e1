"""lightning: a module trained by its Trainer on one device, and on two by DDP."""

from __future__ import annotations

import sys
import tempfile

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Regression(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, 16),
            torch.nn.BatchNorm1d(16),
            torch.nn.ReLU(),
            torch.nn.Linear(16, 1),
        )

    def training_step(self, batch, i):
        assert self.device.type == "cuda"
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        self.log("val", torch.nn.functional.mse_loss(self.net(x), y), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-2)


def main(devices: int) -> None:
    L.seed_everything(0, verbose=False)
    x = torch.randn(128, 6)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            accelerator="gpu",
            devices=devices,
            strategy="ddp_spawn" if devices > 1 else "auto",
            precision="bf16-mixed" if devices == 1 else 32,
            max_epochs=10,
            default_root_dir=folder,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(Regression(), loader, loader)
        val = trainer.callback_metrics["val"].item()
    assert val < 0.5, val
    print("devices", trainer.num_devices, trainer.strategy.__class__.__name__)


if __name__ == "__main__":
    main(int(sys.argv[1]))
