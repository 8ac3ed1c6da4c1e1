// A stand-in for NVIDIA's management library, with two GPUs and one process that uses the second.
#include <cstring>

extern "C" {

struct FakeMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct FakeRates {
  unsigned gpu;
  unsigned memory;
};
struct FakeProcess {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance;
  unsigned compute_instance;
};

static int devices[2];
static int number_of(const void* device) {
  return device == &devices[1] ? 1 : 0;
}

int nvmlInit_v2() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return 2;  // NVML_ERROR_INVALID_ARGUMENT
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  std::strncpy(name, number_of(device) == 0 ? "Fake GPU" : "Other GPU", length);
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, FakeRates* rates) {
  rates->gpu = number_of(device) == 0 ? 0 : 75;
  rates->memory = 1;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, FakeMemory* memory) {
  memory->total = 16ULL << 30;
  memory->used = number_of(device) == 0 ? 1ULL << 20 : 3ULL << 30;
  memory->free = memory->total - memory->used;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, FakeProcess* all) {
  if (number_of(device) == 0) {
    *count = 0;
    return 0;
  }
  *count = 2;
  all[0] = {4321, 2ULL << 30, 0, 0};
  all[1] = {4322, ~0ULL, 0, 0};
  return 0;
}
}
