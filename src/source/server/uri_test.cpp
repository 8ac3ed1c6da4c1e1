#include "source/server/uri.h"

#include <doctest/doctest.h>

namespace torchport {
namespace {

using server::path_of_uri;
using server::uri_of_path;

TEST_CASE("file URIs are paths") {
  CHECK(path_of_uri("file:///a/b.py") == "/a/b.py");
  CHECK(path_of_uri("FILE://localhost/a/b.py") == "/a/b.py");
  CHECK(path_of_uri("file:///a%20b/%C3%A9.py") == "/a b/é.py");
  CHECK(path_of_uri("file:///folder/") == "/folder");
  CHECK(path_of_uri("file:///a.py#L3") == "/a.py");
}

TEST_CASE("other URIs are none") {
  CHECK_FALSE(path_of_uri("untitled:Untitled-1"));
  CHECK_FALSE(path_of_uri("vscode-notebook-cell:/a.ipynb#X"));
  CHECK_FALSE(path_of_uri("file://server/share"));
  CHECK_FALSE(path_of_uri("file:///a%00b"));
  CHECK_FALSE(path_of_uri(""));
  CHECK_FALSE(path_of_uri("file://"));
}

TEST_CASE("broken escapes stay as they are") {
  CHECK(path_of_uri("file:///100%") == "/100%");
  CHECK(path_of_uri("file:///%zz%4") == "/%zz%4");
}

TEST_CASE("every path has a URI that gives it back") {
  for (const char* path : {"/", "/a b/#?%.py", "/é/😀.py", "/a+b&c=d;e.py"})
    CHECK(path_of_uri(uri_of_path(path)) == path);
}

}  // namespace
}  // namespace torchport
