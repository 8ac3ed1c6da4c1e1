import torch
import torch.nn as nn

def load():
    model = nn.DataParallel(nn.Linear(1, 1)).cuda()
    return model

def export_jit(model, path):
    traced = torch.jit.trace(model.module, (torch.zeros(1, 1), torch.ones(1)))
    traced.save(path)

export_jit(load(), "m.pt")
