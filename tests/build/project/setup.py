from setuptools import setup
from torchport.build import BuildExtension, extension

setup(
    packages=["gate_demo"],
    ext_modules=[
        extension(
            "gate_demo._C",
            ["csrc/ops.cpp", "csrc/triple.cu"],
            extra_compile_args={"cxx": ["-O0", "-g0"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
