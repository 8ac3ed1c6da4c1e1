#include "cuda/source/device_bodies.h"

#include <array>

namespace torchport::cuda {

bool DeviceBodies::is_attribute(std::size_t open) const {
  static constexpr std::array<std::string_view, 6> kWords{"__attribute__", "alignas",  "decltype",
                                                          "noexcept",      "explicit", "requires"};
  return is_one_of(word(open - 1), kWords);
}

std::optional<DeviceBodies::Region> DeviceBodies::behind(std::size_t mark) const {
  bool has_parameters = false;
  std::size_t begin = 0;  // of a constructor's initializers
  for (std::size_t at = mark + 1; at < tokens_.size(); ++at) {
    const std::string_view it = word(at);
    if (it == ";" || it == "}" || it == ")" || it == "]") return std::nullopt;
    if (it == "operator") {
      // operator()(...), operator==(...)
      if (is(at + 1, "(")) at += 2;
      while (at + 1 < tokens_.size() && tokens_[at + 1].kind == TokenKind::kMark &&
             !is(at + 1, "("))
        ++at;
    } else if (it == "(" || it == "[") {
      if (!is_closed(at)) return std::nullopt;
      if (it == "(" && !is_attribute(at)) has_parameters = true;
      at = tokens_[at].partner;
    } else if (it == ":" && has_parameters && begin == 0 && !is(at + 1, ":") && !is(at - 1, ":")) {
      begin = at;
    } else if (it == "{") {
      if (!has_parameters || !is_closed(at)) return std::nullopt;
      const std::size_t close = tokens_[at].partner;
      if (!is(close + 1, ",") && !is(close + 1, "{")) return Region{begin == 0 ? at : begin, close};
      at = close;  // a member's initializer
    }
  }
  return std::nullopt;
}

}  // namespace torchport::cuda
