"""A trainer that wraps, moves, saves, exports and evaluates one model: most rules meet at it."""

import io

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.classes = ["a", "b"]
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


def evaluate(model, x):
    model.eval()
    scores = model(x.cuda())
    return scores.argmax(1).cpu().numpy().shape


torch.manual_seed(0)
net = Net()
model = nn.DataParallel(net, device_ids=[0]).cuda()
optimizer = torch.optim.SGD(model.module.head.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss().cuda()
x = torch.linspace(-1, 1, 16).view(4, 4)
y = torch.tensor([0, 1, 0, 1])
for _ in range(2):
    with torch.cuda.amp.autocast(enabled=False):
        loss = criterion(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("%.4f" % loss.item())
print(model.module.classes, evaluate(model, x))
state = {"net": model.module.state_dict(), "wrapped": sorted(model.module.state_dict())[:2]}
store = io.BytesIO()
torch.save(state, store)
store.seek(0)
loaded = torch.load(store)
print(loaded["wrapped"])
model.module.load_state_dict(loaded["net"])
model.eval()
exported = torch.jit.trace(model.module, torch.ones(1, 4).cuda())
print("%.4f" % (exported(x.cuda()) - model(x.cuda())).abs().sum().item())
for name, child in model.module.named_children():
    print(name, sum(p.numel() for p in child.parameters()))
