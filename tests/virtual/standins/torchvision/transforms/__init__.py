from torchvision import absent as __getattr__  # noqa: F401
from torchvision.transforms import functional  # noqa: F401
from torchvision.transforms.functional import InterpolationMode  # noqa: F401
