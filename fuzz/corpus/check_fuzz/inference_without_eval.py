import torch
from models import build_model

def load_model(args):
    model = build_model(args.name)
    model.load_state_dict(torch.load(args.checkpoint, map_location="cpu"))
    return model.to(args.device)

def predict(model, images):
    return torch.softmax(model(images), dim=1)

def main(args, images):
    model = load_model(args)
    print(predict(model, images))
