"""A model that was moved, and batches, a loss and a single input that were not."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)


class MarginLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("margins", torch.tensor([0.5, 1.0]))

    def forward(self, scores, labels):
        return (scores - self.margins[labels].unsqueeze(1)).pow(2).mean()


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
loss_fn = MarginLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.linspace(0, 1, 16).view(4, 4), torch.tensor([0, 1, 0, 1])), batch_size=2)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        scores = net(x)
        loss = loss_fn(scores, y)
        loss.backward()
        optimizer.step()
    print("%.4f" % loss.item())
print("%.4f" % net(torch.ones(1, 4)).sum().item())
