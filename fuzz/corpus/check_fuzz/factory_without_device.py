import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        emb = self.features(x)
        logits = self.fc(emb)
        if self.unknown is not None:
            unknown = torch.full((logits.size(0), 1), self.unknown)
            logits = torch.cat([logits, unknown], dim=1)
        return logits, emb
