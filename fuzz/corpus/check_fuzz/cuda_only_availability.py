import torch


def choose(args):
    if torch.cuda.is_available():
        device = torch.device("cuda")
    else:
        device = torch.device("cpu")
    return device


def get_device():
    if torch.cuda.is_available():
        return "cuda"
    return "cpu"
