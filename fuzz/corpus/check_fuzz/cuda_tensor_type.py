import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make(x, n):
    a = torch.cuda.FloatTensor(x.size(0), 3).fill_(0)
    b = torch.cuda.LongTensor([1, 2, 3])
    c = torch.cuda.FloatTensor(n)
    return a, b, c, x.type(torch.cuda.HalfTensor)
