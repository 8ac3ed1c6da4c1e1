"""Resumes model and optimizer from a checkpoint that was saved on CUDA."""

import os
import tempfile

import torch
import torch.nn as nn


class Trainer:
    def __init__(self, folder):
        torch.manual_seed(0)
        self.path = os.path.join(folder, "checkpoint.pt")
        self.model = nn.Linear(2, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
        self.model = self.model.cuda()
        self.epoch = 0

    def step(self):
        self.optimizer.zero_grad()
        loss = self.model(torch.ones(4, 2, device="cuda")).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        self.epoch += 1
        return loss.item()

    def save(self):
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch}
        torch.save(state, self.path)

    def load(self):
        checkpoint = torch.load(self.path)
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.epoch = checkpoint["epoch"]


with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(folder)
    print("%.4f" % trainer.step())
    trainer.save()
    other = Trainer(folder)
    other.load()
    print(other.epoch, "%.4f" % other.step())
