import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super(ConvBlock, self).__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class AddCoords(nn.Module):
    """Appends an x and a y channel (CoordConv)."""

    def forward(self, x):
        b, _, h, w = x.size()
        ys = torch.linspace(-1, 1, h).cuda().view(1, 1, h, 1).expand(b, 1, h, w)
        xs = torch.linspace(-1, 1, w).cuda().view(1, 1, 1, w).expand(b, 1, h, w)
        return torch.cat([x, xs, ys], dim=1)


class GaussianNoise(nn.Module):
    """Adds noise to the input while training."""

    def __init__(self, sigma=0.02):
        super(GaussianNoise, self).__init__()
        self.sigma = sigma

    def forward(self, x):
        if not self.training or self.sigma == 0:
            return x
        noise = torch.cuda.FloatTensor(x.size()).normal_(0, self.sigma)
        return x + noise


class DropPath(nn.Module):
    """Stochastic depth, one coin a sample."""

    def __init__(self, p=0.1):
        super(DropPath, self).__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = 1 - self.p
        mask = torch.rand(x.size(0), 1, 1, 1, device="cuda") < keep
        return x * mask.float() / keep


class BlurPool(nn.Module):
    """Antialiased downsampling, the kernel follows the module."""

    def __init__(self, channels, stride=2):
        super(BlurPool, self).__init__()
        self.channels = channels
        self.stride = stride
        row = torch.tensor([1.0, 2.0, 1.0])
        kernel = row[:, None] * row[None, :]
        kernel = kernel / kernel.sum()
        self.register_buffer("kernel", kernel.expand(channels, 1, 3, 3).clone())

    def forward(self, x):
        x = F.pad(x, (1, 1, 1, 1), mode="replicate")
        kernel = self.kernel.to(x.dtype)
        return F.conv2d(x, kernel, stride=self.stride, groups=self.channels)


class ResBlock(nn.Module):
    def __init__(self, channels, drop=0.1):
        super(ResBlock, self).__init__()
        self.conv1 = ConvBlock(channels, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.drop = DropPath(drop)

    def forward(self, x):
        out = self.bn2(self.conv2(self.conv1(x)))
        return F.relu(x + self.drop(out))
