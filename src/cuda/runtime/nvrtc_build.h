// Builds the shared library of a program that is compiled at run time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace torchport::cuda {

struct RuntimeSource {
  std::string text;
  std::string name;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text
  std::vector<std::string> options;                          // of nvcc
};

struct Built {
  std::string library;  // empty: it does not compile
  std::string log;      // what the compiler said
};

// The program is torchport's own (TORCHPORT_PROGRAM, else the one of the package that this library
// belongs to). What was built once is kept in the user's cache. Thread safe, and safe for several
// processes.
Built build_at_run_time(const RuntimeSource& source);

}  // namespace torchport::cuda
