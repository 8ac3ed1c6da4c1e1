#include "source/project/baseline.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace torchport::project {

namespace {

using Json = nlohmann::ordered_json;
// path, code, trimmed source line -> how many
using Counts = std::map<std::tuple<std::string, std::string, std::string>, std::size_t>;

std::string relative_to(const std::string& root, const std::string& path) {
  return root != "." && path.starts_with(root + "/") ? path.substr(root.size() + 1) : path;
}

Counts::key_type key_of(const Diagnostic& d, const std::string& root) {
  return {relative_to(root, d.path), d.code, std::string(base::trim(d.source_line))};
}

base::Result<void> save(base::FileSystem& fs, const std::string& path, const Counts& counts) {
  Json document;
  document["torchport-baseline"] = 1;
  document["findings"] = Json::array();
  for (const auto& [key, n] : counts) {
    document["findings"].push_back({{"path", std::get<0>(key)},
                                    {"code", std::get<1>(key)},
                                    {"line", std::get<2>(key)},
                                    {"count", n}});
  }
  return fs.write_atomic(path, document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                         0644);
}

base::Result<Counts> load(const base::FileSystem& fs, const std::string& path) {
  auto text = fs.read(path);
  if (!text) return tl::unexpected<base::Error>(text.error());
  Counts counts;
  try {
    const Json document = Json::parse(*text);
    if (document.at("torchport-baseline") != 1)
      return base::fail(base::ErrorCode::kConfig,
                        "a baseline of another version of torchport; delete it to start a new one",
                        path);
    for (const Json& row : document.at("findings")) {
      counts[{row.at("path"), row.at("code"), row.at("line")}] +=
          row.at("count").get<std::size_t>();
    }
  } catch (const Json::exception&) {
    return base::fail(base::ErrorCode::kConfig,
                      "not a baseline of torchport; delete it to start a new one", path);
  }
  return counts;
}

}  // namespace

base::Result<BaselineResult> apply_baseline(base::FileSystem& fs, const std::string& path,
                                            const std::string& root, CheckReport& report) {
  BaselineResult result;
  if (fs.status(path, true).type == base::FileType::kMissing) {
    Counts counts;
    for (const Diagnostic& d : report.diagnostics) ++counts[key_of(d, root)];
    if (auto done = save(fs, path, counts); !done) return tl::unexpected<base::Error>(done.error());
    result.known = report.diagnostics.size();
    result.written = true;
    report.diagnostics.clear();
    return result;
  }
  auto known = load(fs, path);
  if (!known) return tl::unexpected<base::Error>(known.error());
  Counts seen;
  std::erase_if(report.diagnostics, [&](const Diagnostic& d) {
    const auto key = key_of(d, root);
    const auto entry = known->find(key);
    if (entry == known->end() || seen[key] >= entry->second) return false;
    ++seen[key];
    ++result.known;
    return true;
  });
  std::erase_if(seen, [](const auto& entry) { return entry.second == 0; });
  if (seen != *known && !report.cancelled) {
    if (auto done = save(fs, path, seen); !done) return tl::unexpected<base::Error>(done.error());
  }
  return result;
}

}  // namespace torchport::project
