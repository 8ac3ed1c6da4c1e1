ARG CUDA=11.8.0
FROM nvidia/cuda:${CUDA}-devel-ubuntu22.04
RUN pip install torch --index-url https://download.pytorch.org/whl/cu118
RUN python3 -c "import torch; assert torch.cuda.is_available()"
