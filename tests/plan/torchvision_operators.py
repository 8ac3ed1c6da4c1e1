"""Names the operators of torchvision, whose compiled part needs the libraries of a build for CUDA.

torchvision describes the results of its operators when it is imported, and fails if they have no names.
The models that are measured call none of them.
"""

from __future__ import annotations

import torch

POOL = "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width"
SIZES = "int batch_size, int channels, int height, int width"
CONVOLUTION = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask"
)
WEIGHTS = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
BACK = POOL.replace("Tensor input", "Tensor grad")
SCHEMAS = [
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({POOL}, int sampling_ratio, bool aligned) -> Tensor",
    f"qroi_align({POOL}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward({BACK}, {SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool({POOL}) -> (Tensor, Tensor)",
    f"_roi_pool_backward({BACK}, {SIZES}) -> Tensor".replace("rois,", "rois, Tensor argmax,"),
    f"ps_roi_align({POOL}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward({BACK}, int sampling_ratio, {SIZES}) -> Tensor".replace(
        "rois,", "rois, Tensor channel_mapping,"
    ),
    f"ps_roi_pool({POOL}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward({BACK}, {SIZES}) -> Tensor".replace(
        "rois,", "rois, Tensor channel_mapping,"
    ),
    f"deform_conv2d({WEIGHTS}, {CONVOLUTION}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {WEIGHTS}, {CONVOLUTION}) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor)",
]


def name() -> torch.library.Library:
    """The names last as long as what is returned."""
    library = torch.library.Library("torchvision", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    return library
