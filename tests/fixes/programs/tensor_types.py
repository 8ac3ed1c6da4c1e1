"""Tensor types of torch.cuda, as code of 2018 uses them."""

import torch
from torch.autograd import Variable

z = Variable(torch.cuda.FloatTensor([[0.0, 1.0], [2.0, 3.0]]))
index = torch.cuda.LongTensor([1, 0])
print(z[index].tolist())
noise = Variable(torch.cuda.FloatTensor(2, 2).fill_(1.0), requires_grad=False)
print((z * noise).sum().item())
mask = torch.cuda.ByteTensor([1, 0]).bool()
print(z[mask].tolist())
half = torch.ones(2).type(torch.cuda.FloatTensor)
print((half + z[0]).tolist())
with torch.no_grad():
    frozen = Variable(z.data, volatile=False) if False else Variable(z.data)
print(frozen.sum().item())
