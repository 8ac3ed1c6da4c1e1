from .defectnet import DefectNet, defectnet_small, defectnet_wide

__all__ = ["DefectNet", "defectnet_small", "defectnet_wide", "build_model"]

_MODELS = {
    "small": defectnet_small,
    "wide": defectnet_wide,
}


def build_model(name, **kwargs):
    if name not in _MODELS:
        raise KeyError("unknown model %s, have %s" % (name, sorted(_MODELS)))
    return _MODELS[name](**kwargs)
