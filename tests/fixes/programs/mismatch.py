"""Mixed devices of every kind, around a model that asks for its device."""

import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.scale = torch.tensor([1.0, 2.0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        offset = torch.zeros(x.size(0), 2)
        return self.fc(x) * self.scale + offset


torch.manual_seed(0)
model = Net()
model.to(device)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.3, 0.7]))
x = torch.ones(4, 3)
x.to(device)
y = torch.tensor([0, 1, 0, 1])
y.to(device)
loss = criterion(model(x), y)
loss.backward()
print("%.4f" % loss.item())
scores = model(x).numpy()
print(scores.shape)
