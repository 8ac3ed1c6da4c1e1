"""Models of timm, weights random: some steps of training and inference, on the device named."""

from __future__ import annotations

import sys

import timm
import torch
from timm.optim import create_optimizer_v2
from timm.utils import ModelEmaV3

MODELS = {
    "resnet18": {},
    "mobilenetv3_small_050": {},
    "efficientnet_b0": {"drop_rate": 0.0},
    "vit_tiny_patch16_224": {"img_size": 32, "patch_size": 8, "depth": 2},
    "convnext_atto": {},
}


def main(device: str) -> None:
    for name, options in MODELS.items():
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False, num_classes=4, **options).to(device)
        optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
        average = ModelEmaV3(model, decay=0.9)
        chance = torch.Generator().manual_seed(1)
        for _ in range(3):
            x = torch.randn(4, 3, 32, 32, generator=chance).to(device)
            y = torch.randint(0, 4, (4,), generator=chance).to(device)
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update(model)
        model.eval()
        with torch.no_grad():
            out = model(x)
        assert out.device.type == torch.device(device).type
        print(name, loss.item().hex(), out.double().sum().item().hex())


if __name__ == "__main__":
    main(sys.argv[1])
