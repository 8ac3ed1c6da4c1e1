"""Functions that get a wrapped model, and unwrap it in their own way."""

import copy

import torch
import torch.nn as nn


def head_of(model):
    return model.module[-1]


def average(model, shadow, decay):
    for name, parameter in model.module.named_parameters():
        shadow[name] = decay * shadow[name] + (1 - decay) * parameter.data
    return shadow


def unwrap(model):
    return model.module if isinstance(model, nn.DataParallel) else model


def main():
    torch.manual_seed(0)
    model = nn.DataParallel(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))).cuda()
    shadow = {name: copy.deepcopy(p.data) for name, p in model.module.named_parameters()}
    shadow = average(model, shadow, 0.9)
    print(sorted(shadow), head_of(model).out_features, type(unwrap(model)).__name__)
    clone = copy.deepcopy(model.module)
    clone.load_state_dict(model.module.state_dict())
    x = torch.ones(2, 2).cuda()
    print("%.4f" % (clone(x) - model(x)).abs().sum().item())
    model.module[-1].weight.data.fill_(1.0)
    del model.module[-1].bias
    model.module[-1].bias = None
    print(model.module[-1].bias)


main()
