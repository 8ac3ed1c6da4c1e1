"""A training loop whose save function takes the model away from its device."""

import io

import torch
import torch.nn as nn

store = io.BytesIO()


def save_model(model):
    store.seek(0)
    torch.save(model.cpu().state_dict(), store)


torch.manual_seed(0)
model = nn.Linear(2, 1).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for epoch in range(2):
    loss = model(torch.ones(4, 2).cuda()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    save_model(model)
    print("%.4f" % loss.item())
store.seek(0)
print(sorted(torch.load(store)))
