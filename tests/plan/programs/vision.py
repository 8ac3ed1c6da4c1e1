"""Trains or runs a torchvision model on random images."""

import argparse

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="resnet50")
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--size", type=int, default=224)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument(
    "--optimizer", default="sgd", choices=["sgd", "adam", "adamw", "rmsprop", "none"]
)
parser.add_argument("--autocast", default="none", choices=["none", "float16", "bfloat16"])
parser.add_argument("--type", default="float32")
parser.add_argument("--channels-last", action="store_true")
parser.add_argument(
    "--keep-gradients", action="store_true", help="zero gradients instead of freeing them"
)
parser.add_argument("--segmentation", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
if args.segmentation:
    model = torchvision.models.segmentation.__dict__[args.model](
        weights=None, weights_backbone=None
    )
else:
    model = torchvision.models.get_model(args.model, weights=None)
model = model.to("cuda", dtype=getattr(torch, args.type))
if args.channels_last:
    model = model.to(memory_format=torch.channels_last)

makers = {
    "sgd": lambda: torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
    "adam": lambda: torch.optim.Adam(model.parameters(), lr=1e-4),
    "adamw": lambda: torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True),
    "rmsprop": lambda: torch.optim.RMSprop(model.parameters(), lr=1e-4, foreach=False),
    "none": lambda: None,
}
optimizer = makers[args.optimizer]()
model.train(optimizer is not None)
scaler = torch.amp.GradScaler("cuda", enabled=args.autocast == "float16")
amp = torch.autocast(
    "cuda", getattr(torch, args.autocast, torch.float32), enabled=args.autocast != "none"
)

for _ in range(args.steps):
    images = torch.randn(
        args.batch, 3, args.size, args.size, dtype=getattr(torch, args.type)
    ).cuda()
    if args.channels_last:
        images = images.contiguous(memory_format=torch.channels_last)
    if optimizer is None:
        with torch.inference_mode(), amp:
            output = model(images)
        continue
    shape = (args.batch, args.size, args.size) if args.segmentation else (args.batch,)
    labels = torch.randint(0, 21 if args.segmentation else 1000, shape).cuda()
    with amp:
        output = model(images)
        if args.segmentation:
            output = output["out"]
        loss = torch.nn.functional.cross_entropy(output, labels)
    optimizer.zero_grad(set_to_none=not args.keep_gradients)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.cuda.synchronize()
