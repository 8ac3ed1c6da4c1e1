// A library of this name is asked for by programs that load it by hand (libcuda.so.1). All that is
// in it is in libtorchport_cuda.so, which it needs.
extern "C" __attribute__((visibility("default"))) const char torchport_cuda_name[] =
    "torchport: CUDA for virtual devices";
