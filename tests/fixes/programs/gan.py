"""Two networks, one flag, and Variables, as the GANs of 2018 have them."""

import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)
cuda = True if torch.cuda.is_available() else False
generator = nn.Sequential(nn.Linear(2, 4), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
adversarial_loss = nn.BCELoss()
if cuda:
    generator.cuda()
    discriminator.cuda()
    adversarial_loss.cuda()
Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
optimizer = torch.optim.Adam(generator.parameters(), lr=0.1)
for step in range(2):
    valid = Variable(Tensor(3, 1).fill_(1.0), requires_grad=False)
    z = Variable(Tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
    optimizer.zero_grad()
    loss = adversarial_loss(discriminator(generator(z)), valid)
    loss.backward()
    optimizer.step()
    print("%.4f" % loss.item())
