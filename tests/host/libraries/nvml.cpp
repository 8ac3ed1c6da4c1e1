// A stand-in of NVIDIA's management library with three cards: one in MIG mode with an instance, one
// that is lost, one with used-up spare rows and a fabric that is being set up. To the layout of
// nvmlPciInfo_t and nvmlGpuFabricInfo_t in nvml.h.
#include <cstdint>
#include <cstring>

namespace {

int cards[3] = {0, 1, 2};
int instance = 3;

int number_of(const void* device) {
  return *static_cast<const int*>(device);
}

int text(char* to, unsigned size, const char* words) {
  if (std::strlen(words) >= size) return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  std::strcpy(to, words);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}

int nvmlShutdown() {
  return 0;
}

const char* nvmlErrorString(int code) {
  return code == 15 ? "GPU is lost" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return text(version, size, "580.65.06");
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &cards[index];
  return index == 1 ? 15 : 0;  // NVML_ERROR_GPU_IS_LOST
}

int nvmlDeviceGetName(void* /*device*/, char* name, unsigned size) {
  return text(name, size, "NVIDIA H100 80GB HBM3");
}

int nvmlDeviceGetCudaComputeCapability(void* /*device*/, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  const int number = number_of(device);
  return text(uuid, size, number == 3 ? "MIG-1" : number == 0 ? "GPU-0" : "GPU-2");
}

int nvmlDeviceGetComputeMode(void* device, int* mode) {
  *mode = number_of(device) == 2 ? 2 : 0;
  return 0;
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = number_of(device) == 0 ? 1 : 0;
  return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void* /*device*/, unsigned* count) {
  *count = 7;
  return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* /*device*/, unsigned index, void** device) {
  *device = &instance;
  return index == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}

int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = *pending = 0;
  *failed = number_of(device) == 2 ? 1 : 0;
  return 0;
}

int nvmlDeviceGetGpuFabricInfo(void* device, unsigned char* info) {
  std::memset(info, 0, 28);
  info[24] = number_of(device) == 2 ? 2 : 0;  // NVML_GPU_FABRIC_STATE_IN_PROGRESS
  return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, unsigned char* pci) {
  std::memset(pci, 0, 68);
  const std::uint32_t numbers[4] = {0, static_cast<std::uint32_t>(number_of(device) + 1), 0,
                                    0x233010DE};
  std::memcpy(pci + 16, numbers, sizeof numbers);
  return 0;
}

}  // extern "C"
