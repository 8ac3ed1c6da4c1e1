import torch
import torch.nn as nn
from net import Net

def load():
    model = nn.DataParallel(Net()).to("cuda:0")
    return model

def export_jit(model, path):
    traced = torch.jit.trace(model, torch.zeros(1, 1))
    traced.save(path)

def main(path):
    model = load()
    export_jit(model, path)
