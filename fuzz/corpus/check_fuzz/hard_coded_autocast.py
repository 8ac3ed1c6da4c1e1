from torch import nn
from torch.amp import autocast

class Net(nn.Module):
    def forward(self, x):
        with autocast(device_type="cuda", enabled=False):
            return x.float().mean()
