// libvirtual_devices_need_torchport_run.so has nothing but its name: a plain Python that loads a
// module of PyTorch for virtual devices (torchport/kernel.h) says that there is no such file.
extern "C" __attribute__((visibility("default"))) const char torchport_run_is_needed = 0;
