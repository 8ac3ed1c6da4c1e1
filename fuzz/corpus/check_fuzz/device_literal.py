import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def run(model, x):
    model.to("cuda").eval()
    with torch.device("cuda"):
        y = torch.zeros(2)
    return model(x.to("cuda")) + y
