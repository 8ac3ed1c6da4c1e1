"""A trainer whose network is wrapped, and whose methods reach through the wrapper in every way."""

import copy

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.head = nn.Linear(3, 1)
        self.steps = 0

    def features(self, x):
        return self.body(x)

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self):
        self.net = nn.DataParallel(Net()).cuda()
        self.best = copy.deepcopy(self.net.module.state_dict())
        self.optimizer = torch.optim.Adam(self.net.module.head.parameters(), lr=0.01)

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.net(x.cuda()).abs().mean()
        loss.backward()
        self.optimizer.step()
        self.net.module.steps += 1
        return loss.item()

    def reset(self):
        self.net.module.load_state_dict(self.best)
        self.net.module.head = nn.Linear(3, 1, bias=False).cuda()

    def script(self):
        return torch.jit.script(self.net)


torch.manual_seed(1)
trainer = Trainer()
print("%.4f" % trainer.step(torch.ones(2, 3)))
print(trainer.net.module.steps)
trainer.reset()
print(sorted(trainer.net.module.state_dict()))
print(tuple(trainer.net.module.features(torch.ones(2, 3).cuda()).shape))
