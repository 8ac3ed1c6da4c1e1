#include "runtime/deploy/contract_file.h"

#include <algorithm>
#include <vector>

#include "runtime/deploy/containers/container.h"

namespace torchport::deploy {

namespace {

using base::ErrorCode;

// Created at the first registration: the order in which files are initialised is unspecified.
std::vector<Container>& containers() {
  static std::vector<Container> all;
  return all;
}

}  // namespace

ContainerRegistration::ContainerRegistration(Container container) {
  // The container that takes any file comes last.
  auto& all = containers();
  all.insert(container.recognises == nullptr ? all.end() : all.begin(), container);
}

tl::unexpected<base::Error> no_contract(const std::string& path) {
  return base::fail(ErrorCode::kConfig,
                    "it has no contract, so its inputs and needs are unknown; export it again with "
                    "`torchport export`",
                    path);
}

base::Result<std::string> find_contract(const std::string& path, std::string_view bytes) {
  if (bytes.empty()) return base::fail(ErrorCode::kSyntax, "it is empty", path);
  const auto& all = containers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Container& container) {
    return container.recognises == nullptr || container.recognises(bytes);
  });
  return found->read(path, bytes);
}

}  // namespace torchport::deploy
