import torch
from torch import nn

def main(args):
    model = build_model(args)
    optimizer = build_optimizer(model, args)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    if args.distributed:
        model = nn.parallel.DistributedDataParallel(model.cuda())
    else:
        model = nn.DataParallel(model).cuda()
