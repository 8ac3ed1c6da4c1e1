// Writes the table of device kinds for the Python package, to the file that its argument names.
#include <cstdio>

#include "devices/device_kind.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: torchport_device_table FILE\n", stderr);
    return 2;
  }
  std::FILE* file = std::fopen(arguments[1], "w");
  if (file == nullptr) {
    std::perror(arguments[1]);
    return 3;
  }
  const std::string text = torchport::devices::kinds_as_json() + "\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) std::perror(arguments[1]);
  return written && closed ? 0 : 3;
}
