"""A build script's choice of kernels, without the build."""

import os

import torch
from torch.utils.cpp_extension import CUDAExtension, CppExtension

sources = ["ext.cpp"]
WITH_CUDA = False
if torch.cuda.is_available():
    WITH_CUDA = True
suffixes = ["cpu", "cuda"] if WITH_CUDA else ["cpu"]
if os.getenv("FORCE_ONLY_CPU", "0") == "1":
    suffixes = ["cpu"]
ext_modules = []
for suffix in suffixes:
    if suffix == "cpu":
        ext_modules.append(CppExtension("ext._" + suffix, sources))
print(len(ext_modules))
