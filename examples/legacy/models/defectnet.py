import torch
import torch.nn as nn

from ops import LocalContrast

from .attention import AttentionPool, ChannelGate
from .layers import AddCoords, BlurPool, ConvBlock, GaussianNoise, ResBlock


class Normalize(nn.Module):
    """Input statistics of line 3, kept in the model so that infer.py needs none."""

    def __init__(self, mean=0.5, std=0.2):
        super(Normalize, self).__init__()
        self.mean = torch.tensor([mean]).view(1, 1, 1, 1)
        self.std = torch.tensor([std]).view(1, 1, 1, 1)

    def forward(self, x):
        return (x - self.mean.cuda()) / self.std.cuda()


class DefectNet(nn.Module):
    def __init__(self, num_classes=4, width=16, drop=0.1, noise=0.02,
                 contrast=9, prior=None, unknown_score=None):
        super(DefectNet, self).__init__()
        self.num_classes = num_classes
        self.unknown_score = unknown_score
        self.normalize = Normalize()
        self.noise = GaussianNoise(noise)
        self.contrast = LocalContrast(contrast)
        self.coords = AddCoords()
        self.stem = ConvBlock(4, width)
        self.layer1 = nn.Sequential(
            BlurPool(width), ConvBlock(width, width * 2), ResBlock(width * 2, drop))
        self.layer2 = nn.Sequential(
            BlurPool(width * 2), ConvBlock(width * 2, width * 4),
            ResBlock(width * 4, drop))
        self.gate = ChannelGate(width * 4)
        self.pool = AttentionPool(width * 4)
        self.embed_dim = width * 4 * self.pool.heads
        self.fc = nn.Linear(self.embed_dim, num_classes)
        if prior is not None:
            self.set_prior(prior)
        self._init_weights()

    def _init_weights(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def set_prior(self, prior):
        """Start the classifier at the class frequencies."""
        self.fc.bias.data.copy_(torch.log(torch.tensor(prior)))

    def features(self, x):
        x = self.noise(self.normalize(x))
        x = torch.cat([x, self.contrast(x)], dim=1)
        x = self.stem(self.coords(x))
        x = self.layer2(self.layer1(x))
        return self.pool(self.gate(x))

    def forward(self, x):
        emb = self.features(x)
        logits = self.fc(emb)
        if self.unknown_score is not None:
            # one more column: "none of the known defects"
            unknown = torch.full((logits.size(0), 1), self.unknown_score)
            logits = torch.cat([logits, unknown], dim=1)
        return logits, emb


def defectnet_small(**kwargs):
    return DefectNet(width=12, **kwargs)


def defectnet_wide(**kwargs):
    return DefectNet(width=32, drop=0.2, **kwargs)
