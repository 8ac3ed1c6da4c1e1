"""Classify a fresh set of images with a trained checkpoint.

    python infer.py --checkpoint runs/base/best.pth
"""
from __future__ import print_function

import argparse

import numpy as np
import torch

# everything below lives on the GPU
torch.set_default_tensor_type("torch.cuda.FloatTensor")
torch.backends.cudnn.benchmark = True

from data import CLASSES, DefectDataset
from models import build_model
from utils import confusion_matrix, strip_module, to_numpy


def get_args():
    parser = argparse.ArgumentParser(description="defect-net inference")
    parser.add_argument("--checkpoint", default="runs/base/best.pth")
    parser.add_argument("--model", default="small", choices=["small", "wide"])
    parser.add_argument("--device", default="cuda:0", help="cuda:0, cuda:1, ...")
    parser.add_argument("--size", default=128, type=int, help="number of images")
    parser.add_argument("--seed", default=100, type=int)
    parser.add_argument("--batch-size", default=64, type=int)
    parser.add_argument("--unknown", default=None, type=float,
                        help="logit of the extra class 'none of these'")
    parser.add_argument("--half", action="store_true", help="run in fp16")
    parser.add_argument("--dump", default="", help="write the probabilities to this .npy")
    parser.add_argument("--percentiles", action="store_true",
                        help="confidence percentiles, needs cupy")
    return parser.parse_args()


def load_model(args):
    model = build_model(args.model, num_classes=len(CLASSES),
                        unknown_score=args.unknown)
    checkpoint = torch.load(args.checkpoint)
    model.load_state_dict(strip_module(checkpoint["state_dict"]))
    print("=> %s, epoch %d, val_acc %.4f" % (args.checkpoint, checkpoint["epoch"],
                                            checkpoint["best_acc"]))
    return model.to(args.device)


def predict(model, images, half):
    if half:
        with torch.cuda.amp.autocast():
            logits, _ = model(images)
    else:
        logits, _ = model(images)
    return torch.softmax(logits.float(), dim=1)


def print_percentiles(confidence):
    import cupy
    values = cupy.fromDlpack(torch.utils.dlpack.to_dlpack(confidence.detach()))
    for q in (1, 10, 50, 90):
        print("   p%02d %.4f" % (q, float(cupy.percentile(values, q))))


def main():
    args = get_args()
    dataset = DefectDataset(args.size, seed=args.seed)
    model = load_model(args)

    probs = []
    for start in range(0, len(dataset), args.batch_size):
        images = dataset.images[start:start + args.batch_size].cuda()
        probs.append(predict(model, images, args.half))
    probs = torch.cat(probs)
    confidence, pred = probs.max(dim=1)

    target = dataset.labels.cuda()
    acc = pred.eq(target).float().mean().item()
    num_classes = len(CLASSES) + (args.unknown is not None)
    print(confusion_matrix(pred, target, num_classes))
    worst = np.argsort(to_numpy(confidence))[:5]
    print("least sure: %s" % ", ".join(
        "#%d %s %.2f" % (i, CLASSES[int(dataset.labels[i])], float(confidence[i]))
        for i in worst))
    if args.percentiles:
        print_percentiles(confidence)
    if args.dump:
        np.save(args.dump, probs.numpy())
    print("infer: images %d acc %.4f" % (len(dataset), acc))


if __name__ == "__main__":
    main()
