// Tells which files are imported as parts of a package, so that they can import from it.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace torchport::flow {

// How a file imports modules of its own package.
struct Member {
  bool relative = false;  // it has relative imports
  std::string absolute;   // the first part of its absolute ones: "pkg" of `pkg.layers`
  bool imported = false;  // another file imports it as a part of a package
  bool bare = false;      // a file of the same folder imports it by its mere name
};

// What the imports of a project show. Folders and paths are those of its files; "." is the folder
// of a path without a slash.
struct Packages {
  std::unordered_set<std::string> folders;          // that files import as packages
  std::unordered_map<std::string, Member> members;  // by path
};

}  // namespace torchport::flow
