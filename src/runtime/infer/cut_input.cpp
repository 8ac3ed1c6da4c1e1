#include "runtime/infer/cut_input.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace torchport::infer {

namespace {

// All of this runs in a signal handler: system calls, and memory that is there already.

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Reads a hexadecimal number at the start of `text`, and removes it with the character behind it.
std::uintptr_t take_number(std::string_view& text) {
  std::uintptr_t value = 0;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c >= '0' && c <= '9')
      value = value * 16 + static_cast<std::uintptr_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + static_cast<std::uintptr_t>(c - 'a' + 10);
    else
      break;
  }
  return value;
}

// The path of a line of /proc/self/maps if its range has the address; empty if not.
std::string_view path_in(std::string_view line, std::uintptr_t address) {
  const std::uintptr_t begin = take_number(line);
  const std::uintptr_t end = take_number(line);
  if (address < begin || address >= end) return {};
  const std::size_t path = line.find('/');
  return path == std::string_view::npos ? std::string_view{} : line.substr(path);
}

// Writes the file that is mapped at the address; whether there is one.
bool write_path_at(std::uintptr_t address) {
  static char lines[1U << 16U];
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  std::size_t held = 0;
  bool found = false;
  while (!found) {
    const ssize_t got = ::read(maps, lines + held, sizeof(lines) - held);
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    std::string_view rest(lines, held);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos && !found;
         end = rest.find('\n')) {
      const std::string_view path = path_in(rest.substr(0, end), address);
      if (!path.empty()) write_all(path);
      found = !path.empty();
      rest.remove_prefix(end + 1);
    }
    std::memmove(lines, rest.data(), rest.size());
    held = rest.size();
  }
  ::close(maps);
  return found;
}

void on_bus_error(int, siginfo_t* about, void*) {
  write_all("torchport infer: ");
  if (!write_path_at(reinterpret_cast<std::uintptr_t>(about->si_addr))) write_all("a file");
  write_all(" became shorter while it was read\n");
  _exit(EXIT_FAILURE);
}

}  // namespace

void report_cut_inputs() {
  struct sigaction action {};
  action.sa_sigaction = &on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace torchport::infer
