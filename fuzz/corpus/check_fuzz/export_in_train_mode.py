import torch
import torch.nn as nn

def load_model():
    model = nn.DataParallel(nn.Sequential(nn.Linear(1, 1), nn.Dropout()))
    return model

def export_jit(model, path):
    traced = torch.jit.trace(model.module, torch.zeros(1, 1))
    traced.save(path)

if __name__ == "__main__":
    export_jit(load_model(), "m.pt")
