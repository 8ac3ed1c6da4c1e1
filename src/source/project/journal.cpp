#include "source/project/journal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "source/project/cache.h"

namespace torchport::project {

namespace {

using JournalJson = nlohmann::json;

constexpr std::array<std::pair<JournalState, std::string_view>, 3> kEnds{
    {{JournalState::kWriting, ".writing"},
     {JournalState::kDone, ".done"},
     {JournalState::kUndoing, ".undoing"}}};

std::string_view end_of(JournalState state) {
  return std::find_if(kEnds.begin(), kEnds.end(),
                      [&](const auto& end) { return end.first == state; })
      ->second;
}

// Reads an array of flat objects and refuses everything else at once: neither a deep value nor a
// large count costs anything.
class Entries final : public nlohmann::json_sax<JournalJson> {
 public:
  std::vector<JournalEntry> read{};

  bool null() override { return false; }
  bool boolean(bool value) override {
    return takes("created") && (read.back().created = value, true);
  }
  bool number_integer(number_integer_t /*value*/) override { return false; }
  bool number_unsigned(number_unsigned_t value) override {
    if (!takes("mode") || value > 07777) return false;
    read.back().mode = static_cast<std::uint32_t>(value);
    return true;
  }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return false; }
  bool string(string_t& value) override {
    if (takes("after")) return read.back().after = std::move(value), true;
    if (takes("partial")) return read.back().partial = std::move(value), true;
    return false;
  }
  bool binary(binary_t& value) override {
    if (takes("path")) return read.back().path.assign(value.begin(), value.end()), true;
    if (takes("before")) return read.back().before.assign(value.begin(), value.end()), true;
    return false;
  }
  bool start_object(std::size_t /*elements*/) override {
    if (depth_ != 1) return false;
    ++depth_;
    read.emplace_back();
    return true;
  }
  bool key(string_t& name) override { return key_ = std::move(name), true; }
  bool end_object() override {
    --depth_;
    key_.clear();
    return !read.back().path.empty();
  }
  bool start_array(std::size_t /*elements*/) override { return depth_++ == 0; }
  bool end_array() override { return --depth_ == 0; }
  bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  [[nodiscard]] bool takes(std::string_view name) const { return depth_ == 2 && key_ == name; }

  int depth_ = 0;
  std::string key_{};
};

JournalJson::binary_t bytes_of(std::string_view text) {
  return JournalJson::binary_t({text.begin(), text.end()});
}

}  // namespace

std::string digest(std::string_view content) {
  const CacheKey key = cache_key({content});
  return fmt::format("{:016x}{:016x}", key.high, key.low);
}

std::vector<Journal> journals_of(const base::FileSystem& fs, const std::string& state) {
  std::vector<Journal> found;
  const auto entries = fs.list(state).value_or(std::vector<base::DirectoryEntry>{});
  for (const base::DirectoryEntry& entry : entries) {
    if (entry.type != base::FileType::kRegular) continue;
    for (const auto& [state_of_end, end] : kEnds) {
      const std::string_view name(entry.name);
      if (!name.ends_with(end)) continue;
      Journal journal{0, state_of_end, base::join_path(state, entry.name)};
      const char* last = name.data() + name.size() - end.size();
      if (const auto [rest, error] = std::from_chars(name.data(), last, journal.number);
          error == std::errc() && rest == last)
        found.push_back(std::move(journal));
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Journal& a, const Journal& b) { return a.number < b.number; });
  return found;
}

base::Result<Journal> write_journal(base::FileSystem& fs, const std::string& state,
                                    const std::vector<JournalEntry>& entries) {
  JournalJson rows = JournalJson::array();
  for (const JournalEntry& entry : entries)
    rows.push_back({{"path", JournalJson::binary(bytes_of(entry.path))},
                    {"before", JournalJson::binary(bytes_of(entry.before))},
                    {"after", entry.after},
                    {"partial", entry.partial},
                    {"mode", entry.mode},
                    {"created", entry.created}});
  const auto packed = JournalJson::to_cbor(rows);
  const auto known = journals_of(fs, state);
  Journal journal{known.empty() ? 1 : known.back().number + 1, JournalState::kWriting, {}};
  journal.path =
      base::join_path(state, fmt::format("{:06d}{}", journal.number, end_of(journal.state)));
  const std::string_view content(reinterpret_cast<const char*>(packed.data()), packed.size());
  if (auto done = fs.write_atomic(journal.path, content, 0600); !done)
    return tl::unexpected<base::Error>(done.error());
  return journal;
}

base::Result<std::vector<JournalEntry>> read_journal(const base::FileSystem& fs,
                                                     const Journal& journal) {
  const auto content = fs.read(journal.path);
  if (!content) return tl::unexpected<base::Error>(content.error());
  Entries entries;
  bool whole = false;
  try {
    whole = JournalJson::sax_parse(*content, &entries, JournalJson::input_format_t::cbor);
  } catch (const std::exception&) {
    whole = false;
  }
  if (!whole)
    return base::fail(
        base::ErrorCode::kIo,
        "the journal of this run is damaged; none of its files was changed. Delete it to go on",
        journal.path);
  return std::move(entries.read);
}

base::Result<void> set_state(base::FileSystem& fs, Journal& journal, JournalState state) {
  if (journal.state == state) return {};
  std::string path = journal.path;
  path.replace(path.size() - end_of(journal.state).size(), std::string::npos, end_of(state));
  if (auto done = fs.rename(journal.path, path); !done) return done;
  journal.path = std::move(path);
  journal.state = state;
  // Some file systems cannot sync folders; the rename holds all the same.
  (void)fs.sync({std::string(base::parent_path(journal.path))});
  return {};
}

void forget_old(base::FileSystem& fs, const std::string& state, std::size_t kept) {
  std::vector<Journal> done = journals_of(fs, state);
  std::erase_if(done, [](const Journal& one) { return one.state != JournalState::kDone; });
  for (std::size_t i = 0; i + kept < done.size(); ++i) (void)fs.remove(done[i].path);
}

}  // namespace torchport::project
