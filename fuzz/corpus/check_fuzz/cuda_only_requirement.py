from setuptools import setup
requirements = ["numpy", 'torch==1.4.0+cu100']
setup(name="x", install_requires=requirements, extras_require={"gpu": ["cupy-cuda100"]})
