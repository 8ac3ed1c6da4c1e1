// printf of kernels: CUDA's programming guide, "Formatted Output", and what an H100 prints (program
// printing). Values are read as the format says; at most 32 of them. A conversion that CUDA does
// not know is printed as it is.
#include "cuda/runtime/printing.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "cuda/device/block.h"
#include "cuda/runtime/state.h"

namespace torchport::cuda {

namespace {

struct Prints {
  std::mutex mutex;
  std::string text;
  std::size_t taken = 0;  // of the buffer of the device
};
Prints& prints() {
  static auto* const kPrints = [] {
    std::atexit(&show_prints);
    return new Prints();
  }();
  return *kPrints;
}

constexpr int kMostValues = 32;
// A call takes a head and 8 bytes for each value; strings are held with their texts.
constexpr std::size_t kHead = 24;

// The values of one call, and how many are left.
struct Values {
  va_list list;
  int left;

  long long integer(bool wide) {
    if (left-- <= 0) return 0;
    return wide ? va_arg(list, long long) : va_arg(list, int);
  }
  double real() { return left-- <= 0 ? 0.0 : va_arg(list, double); }
  const void* pointer() { return left-- <= 0 ? nullptr : va_arg(list, const void*); }
};

template <class T>
void append(std::string& text, const std::string& how, T value) {
  char small[256];
  const int length = std::snprintf(small, sizeof(small), how.c_str(), value);
  if (length < static_cast<int>(sizeof(small))) {
    text.append(small, static_cast<std::size_t>(std::max(length, 0)));
    return;
  }
  std::string large(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(large.data(), large.size(), how.c_str(), value);
  large.pop_back();
  text += large;
}

// One conversion from `at`, which is a %. Returns where the text goes on.
const char* convert(const char* at, Values& values, std::string& text, std::size_t& bytes) {
  const char* begin = at++;
  std::string how = "%";
  while (*at != '\0' && std::strchr("-+ #0", *at) != nullptr) how += *at++;
  const auto number = [&] {
    if (*at == '*') {
      ++at;
      how += std::to_string(static_cast<int>(values.integer(false)));
      return;
    }
    while (*at >= '0' && *at <= '9') how += *at++;
  };
  number();
  if (*at == '.') {
    how += *at++;
    number();
  }
  std::string length;
  while (*at == 'h' || *at == 'l' || *at == 'L') length += *at++;
  const char kind = *at;
  if (kind == '%') {
    text += '%';
    return at + 1;
  }
  if (kind != '\0' && std::strchr("diouxX", kind) != nullptr) {
    const bool wide = length == "l" || length == "ll" || length == "L";
    long long value = values.integer(wide);
    if (length == "h")
      value = kind == 'd' || kind == 'i' ? static_cast<short>(value)
                                         : static_cast<unsigned short>(value);
    if (length == "hh")
      value = kind == 'd' || kind == 'i' ? static_cast<signed char>(value)
                                         : static_cast<unsigned char>(value);
    if (!wide && length.empty() && kind != 'd' && kind != 'i') value = static_cast<unsigned>(value);
    append(text, how + "ll" + kind, value);
  } else if (kind != '\0' && std::strchr("eEfFgGaA", kind) != nullptr) {
    append(text, how + kind, values.real());
  } else if (kind == 'c') {
    append(text, how + kind, static_cast<int>(values.integer(false)));
  } else if (kind == 'p') {
    append(text, how + kind, values.pointer());
  } else if (kind == 's') {
    const auto* string = static_cast<const char*>(values.pointer());
    if (string == nullptr) string = "(null)";
    bytes += std::strlen(string);
    append(text, how + kind, string);
  } else {
    text.append(begin, at);
    return at;
  }
  return at + 1;
}

int print(int count, const char* format, va_list list) {
  if (format == nullptr) return -1;
  std::string text;
  std::size_t bytes = kHead + static_cast<std::size_t>(count) * 8;
  Values values{};
  va_copy(values.list, list);
  values.left = count;
  for (const char* at = format; *at != '\0';) {
    if (*at == '%')
      at = convert(at, values, text, bytes);
    else
      text += *at++;
  }
  va_end(values.list);
  const std::size_t room = current_state().limits[cudaLimitPrintfFifoSize];
  const std::scoped_lock lock(prints().mutex);
  prints().taken += bytes;
  prints().text += text;
  if (prints().taken > room) {
    // The buffer is a ring: the oldest lines are lost.
    const std::size_t lost = prints().text.find('\n', prints().taken - room);
    prints().text.erase(0, lost == std::string::npos ? 0 : lost + 1);
    prints().taken = room;
  }
  return count;
}

}  // namespace

void show_prints() {
  std::string text;
  {
    const std::scoped_lock lock(prints().mutex);
    if (prints().text.empty()) return;
    text.swap(prints().text);
    prints().taken = 0;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace torchport::cuda

// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) int torchport_cuda_print(int count,
                                                                           const char* format,
                                                                           ...) {
  va_list list;
  va_start(list, format);
  const int result = torchport::cuda::Block::current() == nullptr
                         ? std::vprintf(format, list)
                         : torchport::cuda::print(count, format, list);
  va_end(list);
  return result;
}

extern "C" __attribute__((visibility("default"))) int torchport_cuda_vprint(const char* format,
                                                                            va_list list) {
  // How many there are is not known.
  return torchport::cuda::Block::current() == nullptr
             ? std::vprintf(format, list)
             : torchport::cuda::print(torchport::cuda::kMostValues, format, list);
}
// NOLINTEND(readability-identifier-naming)
