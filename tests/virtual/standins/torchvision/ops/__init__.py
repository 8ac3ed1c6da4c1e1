from torchvision.ops import misc  # noqa: F401
