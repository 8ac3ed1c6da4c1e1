
    
def choose(args):
    import torch
    from torch import nn
    
    model = nn.DataParallel(nn.Linear(2, 2))
    model = nn.DataParallel(nn.Linear(2, 2))
        if torch.cuda.is_available():
        device = torch.device("cuda")
    else:
	        device = torch.device("cpu")
        np.save("out.npy", probs.numpy())
    import numpy as np
    return device
