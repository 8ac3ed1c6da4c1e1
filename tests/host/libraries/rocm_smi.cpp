// A stand-in of ROCm SMI with two cards; FAKE_DRIVER says what is wrong with it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace {
bool is(std::string_view kind) {
  const char* value = std::getenv("FAKE_DRIVER");
  return value != nullptr && kind == value;
}
}  // namespace

extern "C" {

int rsmi_init(std::uint64_t /*flags*/) {
  if (is("hangs"))
    for (;;) pause();
  if (is("ends")) std::abort();
  if (is("talks")) {
    constexpr std::string_view kNoise = "WARNING: a driver says so\n";
    if (write(STDOUT_FILENO, kNoise.data(), kNoise.size()) < 0) return 1;
  }
  return is("refuses") ? 8 : 0;
}

int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = is("lies") ? 0xFFFFFFFFU : 2;
  return 0;
}

int rsmi_dev_name_get(std::uint32_t index, char* name, std::size_t size) {
  // A name that fills its buffer has no end.
  if (is("lies"))
    std::memset(name, 'x', size);
  else
    std::strncpy(name, index == 0 ? "AMD Instinct MI250X" : "AMD Instinct MI300X", size);
  return 0;
}

int rsmi_dev_memory_total_get(std::uint32_t index, int kind, std::uint64_t* total) {
  *total = (std::uint64_t{64} + index) << 30U;
  return kind == 0 ? 0 : 1;
}

int rsmi_dev_pci_id_get(std::uint32_t index, std::uint64_t* place) {
  *place = (std::uint64_t{0x17} + index) << 8U;
  return 0;
}

int rsmi_shut_down() {
  return 0;
}

}  // extern "C"
