"""Mixed precision in the style of torch 1.6, switched off so that the numbers are the same anywhere."""

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast

torch.manual_seed(0)
USE_AMP = False
model = nn.Linear(8, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler(enabled=USE_AMP)
x = torch.linspace(-1, 1, 32).view(4, 8).cuda()
for step in range(3):
    optimizer.zero_grad()
    with autocast(enabled=USE_AMP):
        loss = model(x).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print("%d %.5f" % (step, loss.item()))
print(len(scaler.state_dict()) == 0)
