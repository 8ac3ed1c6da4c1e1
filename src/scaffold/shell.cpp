#include "scaffold/shell.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace torchport::scaffold {

namespace {

bool is_bare(char c) {
  return base::is_identifier_char(c) ||
         std::string_view("-./:=+,@%").find(c) != std::string_view::npos;
}

std::string without_controls(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return clean;
}

}  // namespace

std::string shell_word(std::string_view text) {
  std::string clean = without_controls(text);
  const bool ascii = std::all_of(clean.begin(), clean.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 128; });
  if (!clean.empty() && ascii && std::all_of(clean.begin(), clean.end(), is_bare)) return clean;
  std::string word = "'";
  for (const char c : clean) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(without_controls(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_list(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const std::string& word : words) text += (text.size() > 1 ? ", " : "") + json_string(word);
  return text + "]";
}

}  // namespace torchport::scaffold
