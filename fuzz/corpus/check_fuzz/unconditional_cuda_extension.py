from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="ops",
    ext_modules=[
        CUDAExtension("contrast_cuda", ["contrast.cpp", "contrast_kernel.cu"]),
        CUDAExtension("blur_cuda", ["blur.cpp", "blur_kernel.cu"]),
    ],
    cmdclass={"build_ext": BuildExtension},
)
