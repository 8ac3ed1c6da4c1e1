// A stand-in of Level Zero's loader with one card, to the layout of ze_device_properties_t.
#include <cstdint>
#include <cstring>

extern "C" {

int zeInit(std::uint32_t flags) {
  return flags == 1 ? 0 : 0x78000004;
}

int zeDriverGet(std::uint32_t* count, void** drivers) {
  *count = 1;
  drivers[0] = drivers;
  return 0;
}

int zeDeviceGet(void* /*driver*/, std::uint32_t* count, void** devices) {
  *count = 1;
  devices[0] = devices;
  return 0;
}

int zeDeviceGetProperties(void* /*device*/, unsigned char* properties) {
  std::uint32_t kind = 0;
  std::memcpy(&kind, properties, sizeof kind);
  if (kind != 3) return 1;
  const std::uint32_t numbers[3] = {1, 0x8086, 0xE20B};  // type, vendorId, deviceId
  std::memcpy(properties + 16, numbers, sizeof numbers);
  std::strcpy(reinterpret_cast<char*>(properties) + 112, "Intel(R) Arc(TM) B580 Graphics");
  return 0;
}

}  // extern "C"
