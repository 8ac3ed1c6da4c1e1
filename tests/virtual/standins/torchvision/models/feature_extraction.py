from torchvision import absent as __getattr__  # noqa: F401
