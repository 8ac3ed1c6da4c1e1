import torch

def main(args):
    checkpoint = torch.load(args.checkpoint)
    model = build(checkpoint["args"])
    model.load_state_dict(strip(checkpoint["state_dict"]))
    return model.to(args.device)
