// Reads profiles of programs from the project's settings.
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <c10/core/ScalarType.h>
#include <fmt/format.h>
#include <torchport/device.h>

#include "base/file_system.h"
#include "base/text.h"
#include "base/toml.h"

namespace torchport {

namespace {

[[noreturn]] void refuse(const std::string& file, const toml::node& node, std::string_view what) {
  throw std::invalid_argument(
      fmt::format("torchport: {}:{}: {}", file, node.source().begin.line, what));
}

template <class T>
T value_of(const std::string& file, std::string_view key, const toml::node& node,
           std::string_view kind) {
  const auto value = node.value_exact<T>();
  if (!value) refuse(file, node, fmt::format("\"{}\" must be {}", key, kind));
  return *value;
}

std::int64_t count_of(const std::string& file, std::string_view key, const toml::node& node,
                      std::int64_t least) {
  const auto value = value_of<std::int64_t>(file, key, node, "a whole number");
  if (value < least || value > INT32_MAX)
    refuse(file, node, fmt::format("\"{}\" cannot be {}", key, value));
  return value;
}

RunProfile read_profile(const toml::table& table, const std::string& name,
                        const std::string& file) {
  RunProfile profile{name, file, {}, {}, {}, {}};
  for (const auto& [key, node] : table) {
    if (key == "device") {
      profile.device = value_of<std::string>(file, key.str(), node, "a string");
    } else if (key == "dtype") {
      profile.dtype = value_of<std::string>(file, key.str(), node, "a string");
      if (!c10::getStringToDtypeMap().contains(*profile.dtype))
        refuse(file, node, fmt::format("torch has no dtype \"{}\"", *profile.dtype));
    } else if (key == "batch-size") {
      profile.batch_size = count_of(file, key.str(), node, 1);
    } else if (key == "workers") {
      profile.workers = static_cast<int>(count_of(file, key.str(), node, 0));
    } else {
      refuse(
          file, node,
          fmt::format("unknown key \"{}\" in a profile; the keys are device, dtype, batch-size and "
                      "workers",
                      key.str()));
    }
  }
  return profile;
}

struct Profiles {
  toml::table table;  // the file's table; `inner` points into it
  const toml::table* inner = nullptr;
  std::string file;
};

// The nearest file, in this folder or above it, that has profiles.
std::optional<Profiles> find_profiles(const std::string& folder) {
  const base::FileSystem& files = base::real_file_system();
  for (std::filesystem::path at = std::filesystem::absolute(folder.empty() ? "." : folder);;
       at = at.parent_path()) {
    for (const char* name : {"torchport.toml", "pyproject.toml"}) {
      const std::string path = (at / name).lexically_normal().string();
      const auto text = files.status(path, true).type == base::FileType::kRegular
                            ? files.read(path)
                            : base::Result<std::string>(std::string());
      if (!text)
        throw std::invalid_argument(fmt::format("torchport: {}: {}", path, text.error().message));
      if (text->find("profiles") == std::string::npos) continue;
      try {
        Profiles found{base::parse_toml(*text, path), nullptr, path};
        auto view = std::string_view(name) == "pyproject.toml"
                        ? found.table["tool"]["torchport"]["profiles"]
                        : found.table["profiles"];
        const toml::table* inner = view.as_table();
        if (inner == nullptr) continue;
        Profiles result{std::move(found.table), nullptr, path};
        result.inner = std::string_view(name) == "pyproject.toml"
                           ? result.table["tool"]["torchport"]["profiles"].as_table()
                           : result.table["profiles"].as_table();
        return result;
      } catch (const toml::parse_error& error) {
        throw std::invalid_argument(fmt::format("torchport: {}:{}: {}", path,
                                                error.source().begin.line, error.description()));
      }
    }
    if (at == at.parent_path()) return std::nullopt;
  }
}

std::string names_in(const toml::table& table) {
  std::string names;
  for (const auto& [key, node] : table) {
    if (!names.empty()) names += ", ";
    names += key.str();
  }
  return names.empty() ? "none" : names;
}

}  // namespace

std::optional<RunProfile> run_profile(const std::string& name, const std::string& folder) {
  const char* variable = std::getenv("TORCHPORT_PROFILE");
  const std::string asked = !name.empty() ? name : variable == nullptr ? "" : variable;
  const auto profiles = find_profiles(folder);
  const std::string wanted = asked.empty() ? "default" : asked;
  if (!profiles) {
    if (asked.empty()) return std::nullopt;
    throw std::invalid_argument(
        fmt::format("torchport: profile \"{}\" was not found: no torchport.toml or pyproject.toml "
                    "from {} upwards has profiles",
                    asked, std::filesystem::absolute(folder.empty() ? "." : folder).string()));
  }
  const toml::node* node = profiles->inner->get(wanted);
  if (node == nullptr) {
    if (asked.empty()) return std::nullopt;
    throw std::invalid_argument(fmt::format("torchport: {} has no profile \"{}\"; it has {}",
                                            profiles->file, asked, names_in(*profiles->inner)));
  }
  const toml::table* table = node->as_table();
  if (table == nullptr)
    refuse(profiles->file, *node, fmt::format("profile \"{}\" is not a table", wanted));
  return read_profile(*table, wanted, profiles->file);
}

}  // namespace torchport
