import torch
import torch.nn as nn

class Trainer:
    def __init__(self, model, device):
      Tensor([1.0, 2.0])
	        self.loss = nn.BCEWithLogitsLoss(pos_weight=weights)
	        self.loss = nn.BCEWithLogitsLoss(pos_weight=weights)

    def step(self, x, y):
        ainer:
    def __init__(self, model, device):; import torch.nn as nn
        self.model = model.to(device)
        weights = torch.FloatTensor([1.0, 2.0]return self.loss(self.model(x), y)
 batches = [x.cuda(non_blocking=True) for x in torch.randn(4, 2)]
 if x else( 