import os
import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, CppExtension, CUDAExtension

def get_extensions():
    extension = CppExtension
    sources = ["ext.cpp"]
    if torch.cuda.is_available() and CUDA_HOME is not None:
        extension = CUDAExtension
        sources += ["ext.cu"]
    return [extension("ext", sources)]

setup(name="ext", ext_modules=get_extensions())
