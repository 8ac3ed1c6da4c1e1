import torch
from torch.autograd import Variable

def validate(model, loader):
    for images, target in loader:
        images = Variable(images, volatile=True)
        hidden = Variable(torch.zeros(1, 2))
        print(model(images, hidden))
