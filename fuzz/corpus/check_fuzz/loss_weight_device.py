import torch
import torch.nn as nn

class Trainer:
    def __init__(self, model, device):
        self.model = model.to(device)
        weights = torch.FloatTensor([1.0, 2.0])
        self.loss = nn.BCEWithLogitsLoss(pos_weight=weights)

    def step(self, x, y):
        return self.loss(self.model(x), y)
