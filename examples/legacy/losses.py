import torch
import torch.nn as nn
import torch.nn.functional as F

# inverse class frequency of line 3, see tools/class_stats in the old repo
CLASS_WEIGHTS = torch.FloatTensor([0.7, 1.2, 1.2, 1.2]).cuda()


class FocalLoss(nn.Module):
    """Focal loss on softmax outputs, with one weight a class."""

    def __init__(self, gamma=2.0, weight=CLASS_WEIGHTS):
        super(FocalLoss, self).__init__()
        self.gamma = gamma
        self.weight = weight

    def forward(self, logits, target):
        logp = F.log_softmax(logits.float(), dim=1)
        logpt = logp.gather(1, target.view(-1, 1)).squeeze(1)
        pt = logpt.exp()
        alpha = self.weight[target]
        loss = -alpha * (1 - pt) ** self.gamma * logpt
        return loss.sum() / alpha.sum()


class LabelSmoothing(nn.Module):
    def __init__(self, num_classes, eps=0.1):
        super(LabelSmoothing, self).__init__()
        self.num_classes = num_classes
        self.eps = eps

    def forward(self, logits, target):
        logp = F.log_softmax(logits.float(), dim=1)
        one_hot = torch.zeros(target.size(0), self.num_classes).cuda()
        one_hot.scatter_(1, target.view(-1, 1), 1)
        soft = one_hot * (1 - self.eps) + self.eps / self.num_classes
        return -(soft * logp).sum(dim=1).mean()


class CenterLoss(nn.Module):
    """Pulls the embeddings of a class to their running centre."""

    def __init__(self, num_classes, dim, momentum=0.9):
        super(CenterLoss, self).__init__()
        self.momentum = momentum
        self.centers = torch.zeros(num_classes, dim, device="cuda")

    def forward(self, features, target):
        features = features.float()
        picked = self.centers[target]
        loss = ((features - picked) ** 2).sum(dim=1).mean()
        with torch.no_grad():
            delta = torch.zeros_like(self.centers)
            count = features.new_zeros(self.centers.size(0), 1)
            delta.index_add_(0, target, features.detach() - picked)
            count.index_add_(0, target, features.new_ones(target.size(0), 1))
            self.centers += (1 - self.momentum) * delta / count.clamp(min=1)
        return loss


def get_criterion(name, num_classes):
    if name == "focal":
        return FocalLoss()
    if name == "smooth":
        return LabelSmoothing(num_classes)
    if name == "ce":
        return nn.CrossEntropyLoss(weight=CLASS_WEIGHTS)
    raise ValueError("unknown loss: %s" % name)
