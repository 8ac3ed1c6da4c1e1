import numpy as np
import torch

def predict(model, images):
    logits, _ = model(images)
    return torch.softmax(logits.float(), dim=1)

def main(model, batches):
    probs = []
    for images in batches:
        images = images.cuda()
        probs.append(predict(model, images))
    probs = torch.cat(probs)
    np.save("out.npy", probs.numpy())
