import torch
import torch.nn as nn

class Normalize(nn.Module):
    def __init__(self):
        super(Normalize, self).__init__()
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
        self.std = torch.tensor([
            0.229,
            0.224,
            0.225,
        ]).cuda()

    def forward(self, x):
        return (x - self.mean.cuda()) / self.std
