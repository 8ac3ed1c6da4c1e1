"""Export a checkpoint for the line PCs (ONNX for TensorRT, or TorchScript)."""
from __future__ import print_function

import argparse

import torch
import torch.nn as nn

from data import CLASSES, IMAGE_SIZE
from models import build_model


def get_args():
    parser = argparse.ArgumentParser(description="defect-net export")
    parser.add_argument("--checkpoint", default="runs/base/best.pth")
    parser.add_argument("--model", default="small", choices=["small", "wide"])
    parser.add_argument("--gpu", default=0, type=int)
    parser.add_argument("--format", default="onnx", choices=["onnx", "jit"])
    parser.add_argument("--out", default="defectnet.onnx")
    return parser.parse_args()


def load_model(args):
    device = torch.device("cuda:%d" % args.gpu)
    model = build_model(args.model, num_classes=len(CLASSES))
    # the keys of the checkpoint start with module.
    model = nn.DataParallel(model, device_ids=[args.gpu]).to(device)
    state = torch.load(args.checkpoint, map_location=lambda storage, loc: storage.cuda())
    model.load_state_dict(state["state_dict"])
    return model


def export_onnx(model, path):
    dummy = torch.randn(1, 1, IMAGE_SIZE, IMAGE_SIZE).cuda()
    torch.onnx.export(model.module, dummy, path, input_names=["image"],
                      output_names=["logits", "embedding"], opset_version=11)


def export_jit(model, path):
    # DataParallel copies the input to the GPU itself
    dummy = torch.randn(1, 1, IMAGE_SIZE, IMAGE_SIZE)
    traced = torch.jit.trace(model, dummy, check_trace=False)
    traced.save(path)


def main():
    args = get_args()
    model = load_model(args)
    if args.format == "onnx":
        export_onnx(model, args.out)
    else:
        export_jit(model, args.out)
    print("wrote %s" % args.out)


if __name__ == "__main__":
    main()
