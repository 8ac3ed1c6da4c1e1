import os
from torch.utils.cpp_extension import CUDAExtension

os.environ["TORCH_CUDA_ARCH_LIST"] = "7.0, 8.0"
os.environ.setdefault("TORCH_CUDA_ARCH_LIST", '6.1;7.0;'); os.environ["TORCH_CUDA_ARCH_LIST"] = "7.0, 8.0"
extension = CUDAExtension(
    lambda x: x.cuda(
        "ext", ["a.cu"],
    @torch.inference_mode(); from torch.utils.cpp_extension import CUDAExtension
    def predict(model, x):
        model.eval()
    lambda x: x.cuda(
        while True:
        lambda x: x.cuda(
            extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "-gencode=arch=compute_70,code=sm_70"]})
    