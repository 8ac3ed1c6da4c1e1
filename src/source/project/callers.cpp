#include "source/project/callers.h"

#include <algorithm>
#include <optional>

#include "source/flow/module_imports.h"
#include "source/project/each_file.h"
#include "source/rules/examine.h"

namespace torchport::project {

namespace {

CacheKey facts_key(const std::string& source, const CheckOptions& options) {
  return cache_key({"facts", options.fingerprint, source});
}

// The names among `wanted` that a text contains.
void find_words(std::string_view text, const base::TextSet& wanted, base::TextSet& found) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && base::is_identifier_char(text[end])) ++end;
    if (end > at) {
      const std::string_view word = text.substr(at, end - at);
      if (wanted.contains(word)) found.emplace(word);
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
  const CacheKey key = cache_key({"imports", options.fingerprint, *source});
  const std::string* packed = options.cache == nullptr ? nullptr : options.cache->get(key);
  flow::FileFacts only;
  if (packed != nullptr && flow::unpack_facts(*packed, only)) return only;
  const rules::Deadline deadline = file_deadline();
  const auto tree = syntax::Tree::parse(*source, rules::parse_limits(path, &deadline));
  if (!tree) return std::nullopt;
  only.imports = flow::module_imports(**tree);
  if (options.cache != nullptr) options.cache->put(key, flow::pack_facts(only));
  return only;
}

void find_mentioned(const base::FileSystem& fs, const std::string& path,
                    const base::TextSet& wanted, base::TextSet& found) {
  const rules::FileKind kind = rules::kind_of_path(path);
  if (kind != rules::FileKind::kPython && kind != rules::FileKind::kNotebook) return;
  if (const auto source = fs.read(path)) find_words(*source, wanted, found);
}

void add_rest(const base::FileSystem& fs, const std::vector<std::string>& files,
              const CheckOptions& options, ProjectFacts& known) {
  const auto real = [&](const std::string& path) { return fs.canonical(path).value_or(path); };
  base::TextSet given;
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
  const base::TextSet wanted(names.begin(), names.end());
  CheckOptions quiet = options;
  quiet.progress = nullptr;
  const auto mentioned = each_file<base::TextSet>(
      facts.not_parsed, quiet,
      [&](const std::string& path) {
        base::TextSet found;
        find_mentioned(fs, path, wanted, found);
        return found;
      },
      [](const base::Error&) { return base::TextSet(); });
  base::TextSet doubted;
  for (const auto& found : mentioned)
    if (found) doubted.insert(found->begin(), found->end());
  if (!doubted.empty()) summary->doubt({doubted.begin(), doubted.end()});
  return summary;
}

}  // namespace torchport::project
