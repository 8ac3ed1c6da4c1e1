"""Saves a whole model while it is trained, and predicts with what is loaded."""

import io

import torch
import torch.nn as nn

torch.manual_seed(0)
store = io.BytesIO()
torch.save(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).cuda(), store)
store.seek(0)
model = torch.load(store, weights_only=False)
model = model.cuda()
scores = model(torch.ones(2, 3).cuda())
print(tuple(scores.shape), scores.detach().cpu().numpy().shape)
