"""Trains a small network on DEVICE: convolutions, attention, dropout, mixed orders of memory."""

import sys

import torch
from torch import nn

DEVICE = sys.argv[1]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.lstm = nn.LSTM(16, 8, batch_first=True)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.convolution(x)))
        x = self.layer(nn.functional.avg_pool2d(x, 2).flatten(2).transpose(1, 2))
        return self.head(self.lstm(x)[0][:, -1])


torch.manual_seed(0)
model = Net()
images, labels = torch.randn(64, 3, 12, 12), torch.randint(10, (64,))
model, images, labels = model.to(DEVICE), images.to(DEVICE), labels.to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(5):
    for rows in range(0, 64, 16):
        loss = nn.functional.cross_entropy(
            model(images[rows : rows + 16]), labels[rows : rows + 16]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{epoch} {loss.item():.9g}")
