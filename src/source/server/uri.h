// Converts between file URIs (RFC 8089) and paths.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace torchport::server {

// The path of a file URI; none for another scheme, for another host and for a path with a NUL.
[[nodiscard]] std::optional<std::string> path_of_uri(std::string_view uri);
// The URI of an absolute path.
[[nodiscard]] std::string uri_of_path(std::string_view path);

}  // namespace torchport::server
