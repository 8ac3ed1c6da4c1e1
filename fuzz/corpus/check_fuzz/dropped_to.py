import torch

def train(model, train_loader, device):
    for i, (image, label) in enumerate(train_loader):
        image = image.to(device)
        label.to(device)
        model(image, label)
