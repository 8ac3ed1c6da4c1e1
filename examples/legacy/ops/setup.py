# python setup.py install
import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

ext_modules = []
if torch.cuda.is_available():
    ext_modules.append(
        CUDAExtension(
            name="local_contrast_cuda",
            sources=["src/local_contrast.cpp", "src/local_contrast_kernel.cu"],
            extra_compile_args={
                "cxx": ["-O3"],
                "nvcc": ["-O3", "--use_fast_math"],
            }))
else:
    print("no GPU found, building without CUDA ops")

setup(
    name="local_contrast_cuda",
    version="0.2",
    ext_modules=ext_modules,
    cmdclass={"build_ext": BuildExtension})
