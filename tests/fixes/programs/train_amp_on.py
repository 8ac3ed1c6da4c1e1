"""Mixed precision that is on: what is printed are shapes and whether the loss went down."""

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    @torch.cuda.amp.autocast()
    def forward(self, x):
        return torch.relu(self.linear(x))


net = nn.Sequential(Block(), Block(), nn.Linear(16, 1)).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
scaler = torch.cuda.amp.GradScaler()
x = torch.rand(8, 16).cuda()
losses = []
for _ in range(6):
    with torch.cuda.amp.autocast():
        loss = (net(x).float() - 1).pow(2).mean()
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
    print(tuple(net(x).shape))
with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
    print((x @ x.t()).dtype)
print(losses[-1] < losses[0])
