from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="defect-net",
    version="0.4.1",
    description="Surface defect classification",
    packages=["models", "ops", "tools"],
    py_modules=["data", "losses", "train", "infer", "export_onnx", "utils"],
    install_requires=["torch>=1.6", "numpy"],
    # same as ops/setup.py, so that one pip install gives everything
    ext_modules=[
        CUDAExtension(
            "local_contrast_cuda",
            ["ops/src/local_contrast.cpp", "ops/src/local_contrast_kernel.cu"],
            extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "--use_fast_math"]}),
    ],
    cmdclass={"build_ext": BuildExtension},
)
