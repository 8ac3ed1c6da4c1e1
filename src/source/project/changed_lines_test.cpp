#include "source/project/changed_lines.h"

#include <doctest/doctest.h>

namespace torchport::project {
namespace {

TEST_CASE("the lines that a patch adds or changes") {
  ChangedLines lines;
  lines.add_patch(
      "diff --git a/a b.py b/a b.py\n"
      "--- a/a b.py\t\n"
      "+++ b/a b.py\t\n"
      "@@ -1 +1,2 @@ def f():\n"
      "-old\n"
      "+++ b/no.py\n"
      "+new\n"
      "@@ -9,2 +10,0 @@\n"
      "--- a/no.py\n"
      "-gone\n"
      "@@ -20,0 +19 @@\n"
      "+@@ -1 +50 @@\n"
      "\\ No newline at end of file\n"
      "diff --git \"a/gr\\303\\266\\303\\237e \\\"q\\\".py\" \"b/gr\\303\\266\\303\\237e "
      "\\\"q\\\".py\"\n"
      "--- /dev/null\n"
      "+++ \"b/gr\\303\\266\\303\\237e \\\"q\\\".py\"\n"
      "@@ -0,0 +1,3 @@\n"
      "+1\n+2\n+3\n"
      "diff --git a/gone.py b/gone.py\n"
      "--- a/gone.py\n"
      "+++ /dev/null\n"
      "@@ -1 +0,0 @@\n"
      "-x\n");
  CHECK(lines.touches("a b.py", 1, 1));
  CHECK(lines.touches("a b.py", 2, 9));
  CHECK_FALSE(lines.touches("a b.py", 3, 18));
  CHECK(lines.touches("a b.py", 3, 19));
  CHECK_FALSE(lines.touches("a b.py", 20, 60));
  CHECK(lines.touches("größe \"q\".py", 3, 3));
  CHECK_FALSE(lines.touches("größe \"q\".py", 4, 4));
  CHECK(lines.touches_file("a b.py"));
  CHECK_FALSE(lines.touches_file("gone.py"));
  CHECK_FALSE(lines.touches_file("no.py"));
  CHECK_FALSE(lines.touches_file("/dev/null"));
  lines.add_file("new.py");
  CHECK(lines.touches("new.py", 1'000'000, 1'000'000));
}

TEST_CASE("what is no patch changes nothing") {
  for (const char* text :
       {"", "\n", "+++ ", "@@ -1 +1 @@\n", "+++ \"b/x\n@@ -1 +1 @@\n+", "+++ b/x\n@@ -a +b @@\n",
        "--- a/x\n+++ b/x\n@@ -1 +99999999999999999999 @@\n"}) {
    ChangedLines lines;
    lines.add_patch(text);
    CHECK_FALSE(lines.touches("x", 1, 1));
  }
}

}  // namespace
}  // namespace torchport::project
