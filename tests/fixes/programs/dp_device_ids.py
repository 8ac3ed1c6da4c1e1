"""Chosen devices by number, for the wrapper, for the data and for the whole process."""

import torch
import torch.nn as nn

gpu_ids = [0]
torch.cuda.set_device(gpu_ids[0])
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
net = nn.DataParallel(net, device_ids=[0])
net.cuda()
x = torch.ones(3, 2).cuda(gpu_ids[0], non_blocking=True)
out = net(x)
print(tuple(out.shape), "%.4f" % out.sum().item())
print(net.module[0].in_features)
weights = net.module.state_dict()
fresh = nn.Sequential(nn.Linear(2, 2), nn.Tanh()).cuda(0)
fresh.load_state_dict(weights)
print("%.4f" % fresh(x).sum().item())
