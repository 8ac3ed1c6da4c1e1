"""An epoch of a torchvision model on ImageNet in few steps, as GPUMemNet's published measurements describe it.

Source: itu-rad/GPUMemNet, Test_Pipeline/cnn_models. Of the epoch's steps there are those that differ: the summary's batch
of two, whole batches, the last batch of 1,281,167 images, and two batches of the 50,000 for validation.
"""

import argparse

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="resnet50")
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--size", type=int, default=224)
args = parser.parse_args()

more = {"aux_logits": False, "init_weights": False} if args.model == "inception_v3" else {}
model = torchvision.models.get_model(args.model, weights=None, **more).to("cuda")


def images(count: int) -> torch.Tensor:
    return torch.rand(count, 3, args.size, args.size).to("cuda")


model(images(2))
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
model.train()
total = 0.0
for count in (args.batch, args.batch, args.batch, 1_281_167 % args.batch):
    inputs, labels = images(count), torch.randint(0, 1000, (count,)).to("cuda")
    optimizer.zero_grad()
    outputs = model(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    total += loss.item()
model.eval()
with torch.no_grad():
    for count in (args.batch, args.batch, 50_000 % args.batch):
        inputs, labels = images(count), torch.randint(0, 1000, (count,)).to("cuda")
        outputs = model(inputs)
        total += criterion(outputs, labels).item()
