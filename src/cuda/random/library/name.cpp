// A library of this name is asked for by programs that load it by hand (libcurand.so.10). All that
// is in it is in libtorchport_curand.so, which it needs.
extern "C" __attribute__((visibility("default"))) const char torchport_curand_name[] =
    "torchport: cuRAND for virtual devices";
