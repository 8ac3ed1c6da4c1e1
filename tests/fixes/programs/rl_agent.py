"""An agent that turns observations into tensors and actions into NumPy."""

from collections import deque

import numpy as np
import torch
import torch.nn as nn


class Agent:
    def __init__(self):
        torch.manual_seed(0)
        self.policy = nn.Linear(3, 2).cuda()
        self.target = nn.Linear(3, 2).cuda()
        self.target.load_state_dict(self.policy.state_dict())
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=0.01)
        self.memory = deque(maxlen=10)

    def act(self, state):
        state = torch.from_numpy(state).float().unsqueeze(0).cuda()
        self.policy.eval()
        values = self.policy(state)
        self.policy.train()
        return int(np.argmax(values.cpu().data.numpy()))

    def learn(self):
        states = torch.cuda.FloatTensor(np.stack([m[0] for m in self.memory]))
        actions = torch.tensor([[m[1]] for m in self.memory]).cuda()
        rewards = torch.FloatTensor([[m[2]] for m in self.memory]).to("cuda")
        expected = rewards + 0.9 * self.target(states).detach().max(1)[0].unsqueeze(1)
        loss = nn.functional.mse_loss(self.policy(states).gather(1, actions), expected)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


agent = Agent()
for i in range(4):
    state = np.full(3, i / 4, dtype=np.float32)
    agent.memory.append((state, agent.act(state), float(i)))
print("%.4f" % agent.learn())
