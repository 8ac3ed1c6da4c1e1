import torch
from torch.cuda.amp import autocast, GradScaler

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scaler = GradScaler(enabled=True)

def step(model, batch, scaler: GradScaler):
    with autocast(False):
        batch = batch * 2
    with autocast():
        return model(batch)
