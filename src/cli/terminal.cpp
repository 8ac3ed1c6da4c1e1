#include "cli/terminal.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "base/tell.h"
#include "cli/command.h"
#include "source/report/report.h"

namespace torchport::cli {

namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void print_error(const base::Error& error) {
  std::string place = report::one_line(error.path);
  if (!place.empty()) place += error.line > 0 ? fmt::format(":{}: ", error.line) : ": ";
  base::tell("torchport: {}{}\n", place, report::printable(error.message));
}

int fail(const base::Error& error) {
  print_error(error);
  if (error.code == base::ErrorCode::kNotKnown) return kNotKnown;
  return error.code == base::ErrorCode::kUsage ? kUsageError : kInternalError;
}

void print_row(std::FILE* to, std::string_view name, std::string_view value) {
  if (!value.empty()) fmt::print(to, "  {:<12} {}\n", name, report::one_line(value));
}

bool wants_colour(int file_descriptor) {
  if (is_set("NO_COLOR")) return false;
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return is_set("FORCE_COLOR") || isatty(file_descriptor) == 1;
}

std::function<void(std::size_t)> progress_line(std::size_t total, std::string_view verb) {
  using Clock = std::chrono::steady_clock;
  if (isatty(STDERR_FILENO) != 1) return {};
  const auto start = Clock::now();
  const auto last = std::make_shared<std::atomic<std::int64_t>>(0);
  return [start, last, total, verb = std::string(verb)](std::size_t done) {
    const auto now =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
    std::int64_t shown = last->load();
    // Short runs show nothing; long ones update ten times a second.
    if (now < 500 || now - shown < 100 || !last->compare_exchange_strong(shown, now)) return;
    base::tell("\r{} {}/{} files", verb, done, total);
  };
}

void clear_progress_line() {
  if (isatty(STDERR_FILENO) == 1) base::tell("\r\x1b[K");
}

}  // namespace torchport::cli
