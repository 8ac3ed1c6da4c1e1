// Reads the files that a subcommand takes in place of what it would find on this machine.
#pragma once

#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/result.h"

namespace torchport::cli {

// Reads and parses a file. An error names the file.
template <class T>
base::Result<T> read_recorded(const std::string& path, base::Result<T> (*parse)(std::string_view)) {
  const auto text = base::real_file_system().read(path);
  auto read = text ? parse(*text) : tl::unexpected<base::Error>(text.error());
  if (!read) read.error().path = path;
  return read;
}

}  // namespace torchport::cli
