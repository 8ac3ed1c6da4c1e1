#include "source/project/callers.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "source/project/each_file.h"
#include "source/rules/examine.h"

namespace torchport::project {

namespace {

CacheKey facts_key(const std::string& source, const CheckOptions& options) {
  return cache_key({"facts", options.fingerprint, source});
}

// The names among `wanted` that a text contains.
void find_words(std::string_view text, const std::unordered_set<std::string>& wanted,
                std::unordered_set<std::string>& found) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && base::is_identifier_char(text[end])) ++end;
    if (end > at) {
      std::string word(text.substr(at, end - at));
      if (wanted.contains(word)) found.insert(std::move(word));
    }
    at = end + 1;
  }
}

bool any_chooses_devices(const ProjectFacts& known) {
  return std::any_of(known.files.begin(), known.files.end(), [](const flow::FileOfProject& file) {
    return file.facts.sets_visible_devices;
  });
}

// The facts of a file from the cache, or from its text.
std::optional<flow::FileFacts> facts_in(const std::string& path, const std::string& source,
                                        const CheckOptions& options) {
  flow::FileFacts cached;
  const std::string* packed = cached_facts(source, options);
  if (packed != nullptr && flow::unpack_facts(*packed, cached)) return cached;
  const rules::Deadline deadline = file_deadline();
  const auto tree = syntax::Tree::parse(source, rules::parse_limits(path, &deadline));
  if (!tree) return std::nullopt;
  auto facts = flow::collect_facts(rules::SemanticModel(*tree), deadline.at);
  if (facts) cache_facts(source, options, *facts);
  return facts;
}

// Adds what the files import that were not parsed.
void add_imports(const base::FileSystem& fs, const CheckOptions& options, ProjectFacts& known) {
  CheckOptions quiet = options;
  quiet.progress = nullptr;
  auto imports = each_file<std::optional<flow::FileFacts>>(
      known.not_parsed, quiet,
      [&](const std::string& path) { return imports_of(fs, path, options); },
      [](const base::Error&) { return std::nullopt; });
  for (std::size_t i = 0; i < known.not_parsed.size(); ++i)
    if (imports[i] && *imports[i])
      known.files.push_back({known.not_parsed[i], std::move(**imports[i])});
}

}  // namespace

const std::string* cached_facts(const std::string& source, const CheckOptions& options) {
  return options.cache == nullptr ? nullptr : options.cache->get(facts_key(source, options));
}

void cache_facts(const std::string& source, const CheckOptions& options,
                 const flow::FileFacts& facts) {
  if (options.cache != nullptr)
    options.cache->put(facts_key(source, options), flow::pack_facts(facts));
}

std::optional<flow::FileFacts> facts_of(const base::FileSystem& fs, const std::string& path,
                                        const CheckOptions& options) {
  const auto source = fs.read(path);
  if (!source || rules::kind_of_path(path) != rules::FileKind::kPython ||
      !rules::may_matter(path, *source))
    return std::nullopt;
  return facts_in(path, *source, options);
}

std::optional<flow::FileFacts> imports_of(const base::FileSystem& fs, const std::string& path,
                                          const CheckOptions& options) {
  const auto source = fs.read(path);
  if (!source || rules::kind_of_path(path) != rules::FileKind::kPython) return std::nullopt;
  auto facts = facts_in(path, *source, options);
  if (!facts) return std::nullopt;
  flow::FileFacts only;
  only.imports = std::move(facts->imports);
  return only;
}

void find_mentioned(const base::FileSystem& fs, const std::string& path,
                    const std::unordered_set<std::string>& wanted,
                    std::unordered_set<std::string>& found) {
  const rules::FileKind kind = rules::kind_of_path(path);
  if (kind != rules::FileKind::kPython && kind != rules::FileKind::kNotebook) return;
  if (const auto source = fs.read(path)) find_words(*source, wanted, found);
}

void add_rest(const base::FileSystem& fs, const std::vector<std::string>& files,
              const CheckOptions& options, ProjectFacts& known) {
  const auto real = [&](const std::string& path) { return fs.canonical(path).value_or(path); };
  std::unordered_set<std::string> given;
  for (const std::string& path : files) given.insert(real(path));
  std::vector<std::string> rest = options.rest();
  std::erase_if(rest, [&](const std::string& path) { return given.contains(real(path)); });
  CheckOptions quiet = options;
  quiet.progress = nullptr;
  auto facts = each_file<std::optional<flow::FileFacts>>(
      rest, quiet, [&](const std::string& path) { return facts_of(fs, path, options); },
      [](const base::Error&) { return std::nullopt; });
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (facts[i] && *facts[i])
      known.files.push_back({rest[i], std::move(**facts[i])});
    else
      known.not_parsed.push_back(rest[i]);
  }
}

std::shared_ptr<const flow::Summary> join(const base::FileSystem& fs, ProjectFacts facts,
                                          const CheckOptions& options) {
  if (any_chooses_devices(facts)) add_imports(fs, options, facts);
  auto summary = std::make_shared<flow::Summary>(std::move(facts.files));
  const auto names = summary->settled_names();
  if (names.empty()) return summary;
  const std::unordered_set<std::string> wanted(names.begin(), names.end());
  std::unordered_set<std::string> doubted;
  for (const std::string& path : facts.not_parsed) find_mentioned(fs, path, wanted, doubted);
  if (!doubted.empty()) summary->doubt({doubted.begin(), doubted.end()});
  return summary;
}

}  // namespace torchport::project
