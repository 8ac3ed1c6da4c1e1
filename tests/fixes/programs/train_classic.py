"""The training script of every course: everything is on CUDA, the loader pins memory."""

import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 7
random.seed(SEED)
torch.manual_seed(SEED)
torch.cuda.manual_seed(SEED)
torch.cuda.manual_seed_all(SEED)
torch.backends.cudnn.deterministic = True

data = torch.linspace(0, 1, 40).view(10, 4)
labels = (data.sum(1) > 2).long()
loader = DataLoader(TensorDataset(data, labels), batch_size=5, shuffle=False, pin_memory=True)

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.0), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.cuda()
criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.4, 0.6]).cuda()).cuda()

for epoch in range(2):
    total = 0.0
    for inputs, targets in loader:
        inputs = inputs.cuda(non_blocking=True)
        targets = targets.cuda(non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * inputs.size(0)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    print("epoch %d loss %.4f" % (epoch, total / len(data)))

model.eval()
correct = 0
for inputs, targets in loader:
    outputs = model(inputs.cuda())
    correct += (outputs.argmax(1).cpu() == targets).sum().item()
print("correct", correct)
