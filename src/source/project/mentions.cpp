#include "source/project/mentions.h"

#include <algorithm>
#include <array>

#include "source/project/each_file.h"
#include "source/rules/examine.h"

namespace torchport::project {

namespace {

// Files are asked in groups, and the answer of each group is kept: a bit for each name.
constexpr std::size_t kGroups = 64;
using UnreadGroup = std::vector<const UnreadFile*>;

// Names to look for. Most words of a text have a length that no name with their first character
// has.
class Wanted {
 public:
  explicit Wanted(const base::TextSet& names) : names_(names) {
    for (const std::string& name : names)
      if (!name.empty()) lengths_[byte(name.front())] |= length_bit(name.size());
  }

  [[nodiscard]] bool contains(std::string_view word) const {
    return (lengths_[byte(word.front())] & length_bit(word.size())) != 0 && names_.contains(word);
  }

 private:
  [[nodiscard]] static std::uint8_t byte(char character) {
    return static_cast<std::uint8_t>(character);
  }
  [[nodiscard]] static std::uint64_t length_bit(std::size_t length) {
    return 1ULL << (length % 64);
  }

  const base::TextSet& names_;
  std::array<std::uint64_t, 256> lengths_{};
};

// Whether each byte is part of an identifier.
std::array<bool, 256> identifier_bytes() {
  std::array<bool, 256> result{};
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = base::is_identifier_char(static_cast<char>(i));
  return result;
}

// The names among `wanted` that a text contains.
void find_words(std::string_view text, const Wanted& wanted, base::TextSet& found) {
  static const std::array<bool, 256> kOfIdentifiers = identifier_bytes();
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && kOfIdentifiers[static_cast<std::uint8_t>(text[end])]) ++end;
    if (end > at) {
      const std::string_view word = text.substr(at, end - at);
      if (wanted.contains(word)) found.emplace(word);
    }
    at = end + 1;
  }
}

// A file stays in its group when others come and go.
std::array<UnreadGroup, kGroups> in_groups(const std::vector<UnreadFile>& files) {
  std::array<UnreadGroup, kGroups> groups;
  for (const UnreadFile& file : files)
    groups[cache_key({file.path}).low % kGroups].push_back(&file);
  return groups;
}

// What identifies the answer of a group; none if a file's bytes are not known.
std::optional<CacheKey> key_of(const UnreadGroup& group, std::string_view wanted,
                               const CheckOptions& options) {
  if (options.cache == nullptr) return std::nullopt;
  std::string contents;
  for (const UnreadFile* file : group) {
    if (!file->content) return std::nullopt;
    contents += file->path;
    contents += bytes_of(*file->content);
  }
  return cache_key({"mentions", options.fingerprint, wanted, contents});
}

std::string ask_group(const base::FileSystem& fs, const UnreadGroup& group,
                      const std::vector<std::string>& names, const base::TextSet& wanted) {
  base::TextSet found;
  for (const UnreadFile* file : group) find_mentioned(fs, file->path, wanted, found);
  std::string bits((names.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < names.size(); ++i)
    if (found.contains(names[i])) bits[i / 8] |= static_cast<char>(1U << (i % 8));
  return bits;
}

}  // namespace

void find_mentioned(const base::FileSystem& fs, const std::string& path,
                    const base::TextSet& wanted, base::TextSet& found) {
  const rules::FileKind kind = rules::kind_of_path(path);
  if (kind != rules::FileKind::kPython && kind != rules::FileKind::kNotebook) return;
  if (const auto source = fs.read(path)) find_words(*source, Wanted(wanted), found);
}

std::vector<std::string> find_all_mentioned(const base::FileSystem& fs,
                                            const std::vector<UnreadFile>& files,
                                            std::vector<std::string> wanted,
                                            const CheckOptions& options) {
  std::sort(wanted.begin(), wanted.end());
  std::string all;
  for (const std::string& name : wanted) all += name + '\n';
  const CacheKey all_wanted = cache_key({all});
  const base::TextSet set(wanted.begin(), wanted.end());
  const auto groups = in_groups(files);
  const auto answers = each_index<std::string>(
      kGroups, without_progress(options),
      [&](std::size_t i) {
        const auto key = key_of(groups[i], bytes_of(all_wanted), options);
        const std::string* kept = key ? options.cache->get(*key) : nullptr;
        if (kept != nullptr && kept->size() == (wanted.size() + 7) / 8) return *kept;
        std::string bits = ask_group(fs, groups[i], wanted, set);
        if (key) options.cache->put(*key, bits);
        return bits;
      },
      // Nothing is known of these files: each may mention each name.
      [&](const std::exception&, std::size_t) {
        return std::string((wanted.size() + 7) / 8, '\xFF');
      });
  std::vector<std::string> mentioned;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool any = std::any_of(answers.begin(), answers.end(), [&](const auto& bits) {
      return bits && (static_cast<unsigned char>((*bits)[i / 8]) >> (i % 8) & 1U) != 0;
    });
    if (any) mentioned.push_back(std::move(wanted[i]));
  }
  return mentioned;
}

}  // namespace torchport::project
