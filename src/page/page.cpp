#include "page/page.h"

#include <array>
#include <utility>

namespace torchport::page {

namespace {

// It has places for a title, the page's own style and its body.
constexpr std::string_view kFrame =
#include "page_frame.inc"
    ;

}  // namespace

std::string framed(std::string_view title, std::string_view style, std::string_view body) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> places = {
      {{"{{ title }}", title}, {"{{ style }}", style}, {"{{ body }}", body}}};
  std::string page;
  std::string_view rest = kFrame;
  for (const auto& [place, text] : places) {
    const std::size_t at = rest.find(place);
    page += rest.substr(0, at);
    page += text;
    rest.remove_prefix(at + place.size());
  }
  return page.append(rest);
}

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        result += (byte < 0x20U && c != '\t') || byte == 0x7fU ? ' ' : c;
      }
    }
  }
  return result;
}

}  // namespace torchport::page
