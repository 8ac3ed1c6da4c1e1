"""A program that is tied to CUDA: it is checked, fixed, run and proved."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 2).cuda()
x = torch.ones(4, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.6f}")
