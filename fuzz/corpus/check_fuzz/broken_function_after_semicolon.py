from torch import nn; def forward(self, x):
            return x.float().mean()

class Net(nn.Module):
    def forward(self, x):
        with autocast4(device_type="cuda", enabled=False):
from torch.amp import autocast
