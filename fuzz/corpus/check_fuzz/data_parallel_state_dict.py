import torch
import torch.nn as nn

def main(args):
    model = build(args)
    if args.multi:
        model = nn.DataParallel(model)
    if args.resume:
        model.load_state_dict(torch.load(args.resume)['state_dict'])
    for epoch in range(9):
        save_checkpoint({
            'epoch': epoch,
            'state_dict': model.state_dict(),
        }, args.path)
