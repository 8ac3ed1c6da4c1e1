"""Train a defect classifier.

    python train.py --gpus 0,1 --epochs 8 --save-dir runs/base
"""
from __future__ import print_function

import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.autograd import Variable
from torch.optim.lr_scheduler import MultiStepLR

from data import CLASSES, DataPrefetcher, get_loaders
from losses import CenterLoss, get_criterion
from models import build_model
from utils import (AverageMeter, EpochTimer, HostInfo, accuracy,
                   build_optimizer, confusion_matrix, cudnn_layout,
                   free_cache, gpu_temperature, load_checkpoint,
                   memory_string, save_checkpoint, set_seed)


def get_args():
    parser = argparse.ArgumentParser(description="defect-net training")
    parser.add_argument("--model", default="small", choices=["small", "wide"])
    parser.add_argument("--loss", default="focal", choices=["focal", "smooth", "ce"])
    parser.add_argument("--center", default=0.002, type=float,
                        help="weight of the center loss, 0 turns it off")
    parser.add_argument("--epochs", default=7, type=int)
    parser.add_argument("--batch-size", default=32, type=int)
    parser.add_argument("--lr", default=0.05, type=float)
    parser.add_argument("--weight-decay", default=1e-4, type=float)
    parser.add_argument("--milestones", default=[4, 6], type=int, nargs="+")
    parser.add_argument("--train-size", default=768, type=int)
    parser.add_argument("--val-size", default=256, type=int)
    parser.add_argument("--workers", default=2, type=int)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--gpu", default=0, type=int, help="cuda device of the outputs")
    parser.add_argument("--gpus", default="0,1", help="visible cuda devices")
    parser.add_argument("--amp", action="store_true", help="mixed precision")
    parser.add_argument("--balance", action="store_true", help="class balanced sampler")
    parser.add_argument("--fused", action="store_true", help="apex FusedSGD if installed")
    parser.add_argument("--mixup", default=0.0, type=float)
    parser.add_argument("--prefetch", action="store_true",
                        help="copy batches on a side cuda stream")
    parser.add_argument("--nvml", action="store_true", help="log the GPU temperature")
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--local_rank", default=0, type=int)
    parser.add_argument("--resume", default="", help="checkpoint to go on from")
    parser.add_argument("--save-dir", default="runs/base")
    return parser.parse_args()


def mixup(images, target, alpha):
    lam = np.random.beta(alpha, alpha, size=images.size(0))
    lam = torch.from_numpy(lam).float()
    index = torch.randperm(images.size(0), device=images.device)
    weight = lam.view(-1, 1, 1, 1)
    mixed = weight * images + (1 - weight) * images[index]
    return mixed, target, target[index], lam.mean().item()


def train_epoch(loader, model, criterion, center, optimizer, scaler, args):
    losses, accs = AverageMeter(), AverageMeter()
    model.train()
    batches = DataPrefetcher(loader) if args.prefetch else loader
    for images, target in batches:
        images = images.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        images = images.contiguous(memory_format=cudnn_layout(images))

        with torch.cuda.amp.autocast(enabled=args.amp):
            if args.mixup > 0:
                mixed, target_a, target_b, lam = mixup(images, target, args.mixup)
                logits, emb = model(mixed)
                loss = (lam * criterion(logits, target_a)
                        + (1 - lam) * criterion(logits, target_b))
            else:
                logits, emb = model(images)
                loss = criterion(logits, target)
            if center is not None:
                loss = loss + args.center * center(emb, target)

        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

        losses.update(loss.item(), images.size(0))
        accs.update(accuracy(logits, target), images.size(0))
    return losses.avg, accs.avg


def validate(loader, model, criterion, show=False):
    losses, accs = AverageMeter(), AverageMeter()
    preds, targets = [], []
    model.eval()
    for images, target in loader:
        images = Variable(images, volatile=True)
        target.cuda(non_blocking=True)
        logits, _ = model(images)
        losses.update(criterion(logits, target.to(logits.device)).item(), images.size(0))
        accs.update(accuracy(logits, target.to(logits.device)), images.size(0))
        preds.append(logits.argmax(dim=1))
        targets.append(target)
    if show:
        print(confusion_matrix(torch.cat(preds), torch.cat(targets), len(CLASSES)))
    return losses.avg, accs.avg


def main():
    args = get_args()
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
    torch.backends.cudnn.benchmark = True
    set_seed(args.seed)

    info = HostInfo()
    print("=> %s" % info.header())
    print("=> %d GPU(s), first is %s" % (torch.cuda.device_count(),
                                         torch.cuda.get_device_name(0)))
    torch.cuda.set_device(args.gpu)

    model = build_model(args.model, num_classes=len(CLASSES),
                        prior=[0.4, 0.2, 0.2, 0.2])
    optimizer = build_optimizer(model, args)
    scheduler = MultiStepLR(optimizer, milestones=args.milestones, gamma=0.2)

    if args.distributed:
        # python -m torch.distributed.launch --nproc_per_node=2 train.py --distributed
        torch.cuda.set_device(args.local_rank)
        dist.init_process_group(backend="nccl", init_method="env://")
        model = nn.parallel.DistributedDataParallel(
            model.cuda(), device_ids=[args.local_rank])
    else:
        model = nn.DataParallel(model, device_ids=[0, 1]).cuda()

    criterion = get_criterion(args.loss, len(CLASSES)).cuda()
    center = None
    if args.center > 0:
        dim = model.module.embed_dim
        center = CenterLoss(len(CLASSES), dim)
    scaler = torch.cuda.amp.GradScaler(enabled=args.amp)

    start_epoch, best_acc = 0, 0.0
    if args.resume:
        start_epoch, best_acc = load_checkpoint(args.resume, model, optimizer, scheduler)
        print("=> resumed '%s' at epoch %d" % (args.resume, start_epoch))

    train_loader, val_loader = get_loaders(args)
    train_loss = val_loss = val_acc = float("nan")
    for epoch in range(start_epoch, args.epochs):
        with EpochTimer() as timer:
            train_loss, train_acc = train_epoch(
                train_loader, model, criterion, center, optimizer, scaler, args)
        scheduler.step()
        val_loss, val_acc = validate(val_loader, model, criterion,
                                     show=epoch == args.epochs - 1)
        print("epoch %d: train_loss %.4f train_acc %.4f val_loss %.4f val_acc %.4f "
              "time %.1fs %s" % (epoch, train_loss, train_acc, val_loss, val_acc,
                                 timer.seconds, memory_string()))
        if args.nvml:
            print("   GPU %d at %d C" % (args.gpu, gpu_temperature(args.gpu)))
        free_cache()
        last = os.path.join(args.save_dir, "last.pth")
        save_checkpoint(model, optimizer, scheduler, epoch, best_acc, last)
        if val_acc > best_acc:
            best_acc = val_acc
            best = os.path.join(args.save_dir, "best.pth")
            save_checkpoint(model, optimizer, scheduler, epoch, best_acc, best)

    print("final: train_loss %.4f val_loss %.4f val_acc %.4f"
          % (train_loss, val_loss, val_acc))


if __name__ == "__main__":
    main()
