#include "page/page.h"

#include <doctest/doctest.h>

namespace torchport::page {

TEST_CASE("a page has its parts once, and what looks like a place stays text") {
  const std::string page = framed("{{ body }}", ".a{}", "<p>{{ title }}</p>");
  CHECK(page.find("<title>{{ body }}</title>") != std::string::npos);
  CHECK(page.find("<main>\n<p>{{ title }}</p>\n</main>") != std::string::npos);
  CHECK(page.find("{{ style }}") == std::string::npos);
}

TEST_CASE("no text is markup") {
  CHECK(escape("<a href=\"x\">&amp;\x01\x7f\n\t'") ==
        "&lt;a href=&quot;x&quot;&gt;&amp;amp;   \t'");
  CHECK(escape("\xc3\xa9").size() == 2);
  CHECK(escape("").empty());
}

}  // namespace torchport::page
