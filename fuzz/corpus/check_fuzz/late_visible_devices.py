import os

import torch

from losses import get_criterion


def main(args):
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpus
    return get_criterion()


if __name__ == "__main__":
    main(None)
