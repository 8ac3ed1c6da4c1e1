from .local_contrast import LocalContrast, local_contrast, local_contrast_reference

__all__ = ["LocalContrast", "local_contrast", "local_contrast_reference"]
