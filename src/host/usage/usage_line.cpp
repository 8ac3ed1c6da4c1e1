#include "host/usage/usage_line.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "base/bytes.h"

namespace torchport::host {

namespace {

constexpr std::size_t kBar = 20;

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kBar));
  return std::string(full, '#') + std::string(kBar - full, '.');
}

}  // namespace

std::string usage_line(const std::string& name, const Usage& usage) {
  const std::string busy =
      usage.busy ? fmt::format("{:3.0f} % [{}]", *usage.busy * 100, bar(*usage.busy)) : "  - ";
  const std::string of = usage.total == 0 ? "" : " of " + base::format_bytes(usage.total, 2);
  return fmt::format("{:8} busy {}  memory {}{}", name, busy, base::format_bytes(usage.used, 2),
                     of);
}

Drawing::Drawing(std::FILE* to) : to_(to), terminal_(isatty(fileno(to)) == 1) {}

void Drawing::draw(const std::vector<std::string>& lines) {
  std::string text;
  if (terminal_ && drawn_ > 0) text += fmt::format("\x1b[{}A", drawn_);
  for (const std::string& line : lines) text += line + (terminal_ ? "\x1b[K\n" : "\n");
  if (terminal_) text += "\x1b[J";  // a drawing may have fewer lines than the one before
  drawn_ = lines.size();
  std::fputs(text.c_str(), to_);
  std::fflush(to_);
}

}  // namespace torchport::host
