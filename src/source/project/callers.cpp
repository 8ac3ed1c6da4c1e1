#include "source/project/callers.h"

#include <algorithm>
#include <optional>

#include "source/flow/module_imports.h"
#include "source/project/each_file.h"
#include "source/rules/examine.h"

namespace torchport::project {

namespace {

CacheKey key_for(std::string_view what, const CacheKey& content, const CheckOptions& options) {
  return cache_key({what, options.fingerprint, bytes_of(content)});
}

bool any_chooses_devices(const ProjectFacts& known) {
  return std::any_of(known.files.begin(), known.files.end(), [](const flow::FileOfProject& file) {
    return file.facts.sets_visible_devices || file.facts.sets_after_imports;
  });
}

// The facts of a file from the cache, or from its text.
std::optional<flow::FileFacts> facts_in(const std::string& path, const std::string& source,
                                        const CheckOptions& options) {
  const CacheKey content = cache_key({source});
  if (const std::string* packed = cached_facts(content, options))
    if (auto cached = flow::unpack_facts(*packed)) return cached;
  const rules::Deadline deadline = file_deadline();
  const auto tree = syntax::Tree::parse(source, rules::parse_limits(path, &deadline));
  if (!tree) return std::nullopt;
  auto facts = flow::collect_facts(rules::SemanticModel(*tree), deadline.at);
  if (facts) cache_facts(content, options, *facts);
  return facts;
}

// Adds what the files import that were not parsed.
void add_imports(const base::FileSystem& fs, const CheckOptions& options, ProjectFacts& known) {
  auto imports = each_index<std::optional<flow::FileFacts>>(
      known.not_parsed.size(), without_progress(options),
      [&](std::size_t i) { return imports_of(fs, known.not_parsed[i], options); },
      [](const std::exception&, std::size_t) { return std::nullopt; });
  for (std::size_t i = 0; i < known.not_parsed.size(); ++i)
    if (imports[i] && *imports[i])
      known.files.push_back({known.not_parsed[i].path, std::move(**imports[i])});
}

}  // namespace

const std::string* cached_facts(const CacheKey& content, const CheckOptions& options) {
  return options.cache == nullptr ? nullptr
                                  : options.cache->get(key_for("facts", content, options));
}

void cache_facts(const CacheKey& content, const CheckOptions& options,
                 const flow::FileFacts& facts) {
  if (options.cache != nullptr)
    options.cache->put(key_for("facts", content, options), *facts.packed);
}

std::optional<flow::FileFacts> facts_of(const base::FileSystem& fs, const std::string& path,
                                        const CheckOptions& options) {
  const auto source = fs.read(path);
  if (!source || rules::kind_of_path(path) != rules::FileKind::kPython ||
      !rules::may_matter(path, *source))
    return std::nullopt;
  return facts_in(path, *source, options);
}

std::optional<flow::FileFacts> imports_of(const base::FileSystem& fs, const UnreadFile& file,
                                          const CheckOptions& options) {
  if (rules::kind_of_path(file.path) != rules::FileKind::kPython) return std::nullopt;
  const auto cached = [&](const CacheKey& content) -> std::optional<flow::FileFacts> {
    if (options.cache == nullptr) return std::nullopt;
    const std::string* packed = options.cache->get(key_for("imports", content, options));
    return packed == nullptr ? std::nullopt : flow::unpack_facts(*packed);
  };
  if (file.content)
    if (auto only = cached(*file.content)) return only;
  const auto source = fs.read(file.path);
  if (!source) return std::nullopt;
  const CacheKey content = cache_key({*source});
  if (!file.content)
    if (auto only = cached(content)) return only;
  const rules::Deadline deadline = file_deadline();
  const auto tree = syntax::Tree::parse(*source, rules::parse_limits(file.path, &deadline));
  if (!tree) return std::nullopt;
  flow::FileFacts only = flow::facts_of_imports(flow::module_imports(**tree));
  if (options.cache != nullptr)
    options.cache->put(key_for("imports", content, options), *only.packed);
  return only;
}

void add_rest(const base::FileSystem& fs, const std::vector<std::string>& files,
              const CheckOptions& options, ProjectFacts& known) {
  const auto real = [&](const std::string& path) { return fs.canonical(path).value_or(path); };
  base::TextSet given;
  for (const std::string& path : files) given.insert(real(path));
  std::vector<std::string> rest = options.rest();
  std::erase_if(rest, [&](const std::string& path) { return given.contains(real(path)); });
  auto facts = each_file<std::optional<flow::FileFacts>>(
      rest, without_progress(options),
      [&](const std::string& path) { return facts_of(fs, path, options); },
      [](const base::Error&) { return std::nullopt; });
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (facts[i] && *facts[i])
      known.files.push_back({rest[i], std::move(**facts[i])});
    else
      known.not_parsed.push_back({rest[i], std::nullopt});
  }
}

std::shared_ptr<const flow::Summary> join(const base::FileSystem& fs, ProjectFacts facts,
                                          const CheckOptions& options) {
  if (any_chooses_devices(facts)) add_imports(fs, options, facts);
  auto summary = std::make_shared<flow::Summary>(std::move(facts.files));
  auto names = summary->settled_names();
  if (names.empty()) return summary;
  const auto doubted = find_all_mentioned(fs, facts.not_parsed, std::move(names), options);
  if (!doubted.empty()) summary->doubt(doubted);
  return summary;
}

}  // namespace torchport::project
