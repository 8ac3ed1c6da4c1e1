"""Loads weights and predicts, without eval() and without no_grad()."""

import os
import tempfile

import numpy as np
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)
        self.drop = nn.Dropout(0.0)
        self.fc = nn.Linear(2 * 4 * 4, 3)

    def forward(self, x):
        return self.fc(self.drop(self.norm(self.conv(x))).flatten(1))


def load_model(path):
    model = Net()
    model.load_state_dict(torch.load(path))
    return model.cuda()


def predict(model, images):
    batch = torch.from_numpy(np.stack(images)).float().cuda()
    scores = torch.softmax(model(batch), dim=1)
    return scores.detach().cpu().numpy()


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.pth")
    net = Net().cuda()
    torch.save(net.state_dict(), path)
    loaded = load_model(path)
images = [np.full((1, 4, 4), value, dtype=np.float32) for value in (0.0, 0.5)]
scores = predict(loaded, images)
print(scores.shape, bool(np.allclose(scores.sum(1), 1)))
