// Finds the line length that a project's formatter keeps to.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_system.h"

namespace torchport::project {

// What pyproject.toml says for black, ruff, yapf or autopep8, else setup.cfg, tox.ini or .flake8
// for flake8, pycodestyle or yapf; black's own length if the project only names black. 0 if nothing
// says it.
[[nodiscard]] std::uint16_t line_length(const base::FileSystem& fs, const std::string& root);

// The same for a file: of the nearest folder above it that has one of these files, at most ten
// folders up; 0 if that says nothing.
[[nodiscard]] std::uint16_t line_length_of_file(const base::FileSystem& fs,
                                                const std::string& path);

}  // namespace torchport::project
