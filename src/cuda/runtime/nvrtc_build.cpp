#include "cuda/runtime/nvrtc_build.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/private_folder.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "cuda/runtime/memory.h"

namespace torchport::cuda {

namespace {

namespace fs = std::filesystem;

fs::path own_library() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&build_at_run_time), &info);
  return info.dli_fname == nullptr ? fs::path() : fs::path(info.dli_fname);
}

// The program of the environment whose package has this library.
std::string program() {
  if (const char* given = std::getenv("TORCHPORT_PROGRAM")) return given;
  std::error_code error;
  for (fs::path at = own_library().parent_path(); at.has_relative_path(); at = at.parent_path())
    if (fs::is_regular_file(at / "bin" / "torchport", error)) return at / "bin" / "torchport";
  return "torchport";
}

// What is in it is loaded, so that it has to be this user's alone.
base::Result<std::string> cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  std::string caches = base::cache_folder(variable);
  if (caches.empty()) {
    auto own = base::private_temporary_folder();
    if (!own) return own;
    caches = std::move(*own);
  }
  return base::private_folder(base::join_path(caches, "nvrtc"));
}

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// All that decides what is built; the time of this library stands for the version of the toolkit.
std::string key_of(const RuntimeSource& source) {
  std::error_code error;
  std::string key =
      fmt::format("{}\n", fs::last_write_time(own_library(), error).time_since_epoch().count());
  if (kernels_are_checked()) key += "checked\n";
  for (const std::string& one : source.options) key.append(one).append("\n");
  for (const auto& [name, text] : source.headers)
    key.append(name).append("\n").append(text).append(1, '\0');
  return key.append(source.name).append("\n").append(source.text);
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool write(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return static_cast<bool>(out);
}

// A name that stays below a folder.
bool is_below(const std::string& name) {
  const fs::path path(name);
  if (path.is_absolute()) return false;
  for (const fs::path& part : path)
    if (part == "..") return false;
  return true;
}

std::string without(std::string text, const std::string& folder) {
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.erase(at, folder.size());
  return text;
}

}  // namespace

Built build_at_run_time(const RuntimeSource& source) {
  const std::string key = key_of(source);
  const auto caches = cache_folder();
  if (!caches) return {{}, fmt::format("{}: {}", caches.error().path, caches.error().message)};
  const fs::path kept = fs::path(*caches) / fmt::format("{:016x}", hash_of(key));
  std::error_code error;
  if (fs::exists(kept / "module.so", error) && read(kept / "key") == key)
    return {(kept / "module.so").string(), read(kept / "log")};
  fs::create_directories(kept.parent_path(), error);
  const auto folder = base::TemporaryFolder::make("torchport-nvrtc");
  if (!folder) return {{}, folder.error().message};
  const fs::path root = fs::path(folder->file("source"));
  const std::string name = is_below(source.name) ? source.name : "default_program";
  bool written = write(root / name, source.text);
  for (const auto& [header, text] : source.headers)
    written = written && is_below(header) && write(root / header, text);
  const fs::path made =
      kept.parent_path() / fmt::format(".{}.{}", kept.filename().string(), getpid());
  fs::create_directories(made, error);
  if (!written || error) return {{}, fmt::format("cannot be written: {}", made.string())};
  std::vector<std::string> words{program(), "nvcc", "-shared", "-Xcompiler", "-fPIC", "-x", "cu"};
  words.insert(words.end(), source.options.begin(), source.options.end());
  words.insert(words.end(),
               {"-I", root.string(), (root / name).string(), "-o", (made / "module.so").string()});
  const auto ended = base::run({.words = words});
  if (!ended) {
    fs::remove_all(made, error);
    return {{},
            fmt::format("there is no program {}; set TORCHPORT_PROGRAM to the path of torchport",
                        words.front())};
  }
  const std::string log = without(ended->output + ended->errors, root.string() + "/");
  if (!ended->well()) {
    fs::remove_all(made, error);
    return {{}, log};
  }
  write(made / "key", key);
  write(made / "log", log);
  fs::rename(made, kept, error);
  if (error) {
    // Another process was first, or the folder holds something else: this one's is as good.
    if (read(kept / "key") == key) {
      fs::remove_all(made, error);
      return {(kept / "module.so").string(), log};
    }
    return {(made / "module.so").string(), log};
  }
  return {(kept / "module.so").string(), log};
}

}  // namespace torchport::cuda
