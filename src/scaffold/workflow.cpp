#include "scaffold/workflow.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "scaffold/install_steps.h"
#include "scaffold/shell.h"

namespace torchport::scaffold {

namespace {

// The first steps of each job.
constexpr std::string_view kSetUp = R"(    steps:
      - uses: actions/checkout@v6
        with:
          persist-credentials: false
      - uses: actions/setup-python@v6
        with:
          python-version: "{}"
)";

// Findings are uploaded to code scanning, which accepts nothing from pull requests of forks.
constexpr std::string_view kCheck = R"(jobs:
  check:
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    permissions:
      contents: read
      security-events: write
{set_up}      - name: Install torchport
        run: {torchport}
      - name: Check
        run: torchport check --format sarif --output torchport.sarif .
      - name: Upload the findings
        if: ${{{{ !cancelled() && (github.event_name != 'pull_request' || github.event.pull_request.head.repo.full_name == github.repository) }}}}
        uses: github/codeql-action/upload-sarif@v4
        with:
          sarif_file: torchport.sarif
          category: torchport
)";

constexpr std::string_view kTests = R"(  test:
    name: test (${{{{ matrix.device }}}})
    runs-on: ubuntu-24.04
    timeout-minutes: 60
    strategy:
      fail-fast: false
      matrix:
        include:
          - device: cpu
            run: pytest
          # Two CUDA devices, computed by the CPU: placement, errors and memory are those of a GPU.
          - device: virtual cuda:2
            run: torchport run --devices cuda:2 -- pytest
          # What a machine without a GPU does with code that expects one.
          - device: hidden cuda
            run: torchport run --hide-cuda -- pytest
{set_up}          cache: pip
          cache-dependency-path: "**/requirements*.txt"
)";

void add_step(std::string& text, std::string_view name, const std::vector<std::string>& commands,
              std::string_view environment = {}) {
  text += fmt::format("      - name: {}\n", name);
  if (!environment.empty()) text += fmt::format("        env:\n{}", environment);
  if (commands.size() == 1) {
    text += fmt::format("        run: {}\n", commands.front());
    return;
  }
  text += "        run: |\n";
  for (const std::string& command : commands) text += fmt::format("          {}\n", command);
}

}  // namespace

std::string github_workflow(const Project& project, const Target& target,
                            const WorkflowOptions& options) {
  const std::string torchport = "pip install --no-deps " + shell_word(options.torchport);
  std::string text = fmt::format("# Written by torchport {}: torchport ci\nname: torchport\non:\n",
                                 options.version);
  if (options.branch.empty())
    text += "  push:\n  pull_request:\n";
  else
    text +=
        fmt::format("  push:\n    branches: [{}]\n  pull_request:\n", json_string(options.branch));
  text +=
      "permissions:\n  contents: read\nconcurrency:\n"
      "  group: ${{ github.workflow }}-${{ github.ref }}\n  cancel-in-progress: true\n";
  const std::string set_up = fmt::format(kSetUp, target.python);
  text += fmt::format(kCheck, fmt::arg("set_up", set_up), fmt::arg("torchport", torchport));
  // pytest fails if it finds no test.
  if (!project.tests) return text;
  text += fmt::format(kTests, fmt::arg("set_up", set_up));
  if (project.requirement_files.empty()) {
    // Without such a file a cache has no key.
    const auto cache = text.find("          cache: pip\n");
    text.resize(cache);
  }
  add_step(text, "Install torch", {torch_command(target)});
  if (auto commands = requirement_commands(project, options.requirement_files); !commands.empty())
    add_step(text, "Install the requirements", commands);
  add_step(text, "Install torchport", {torchport});
  if (project.installable && project.extension) {
    add_step(text, "Build the project, without CUDA code",
             {"pip install " + shell_words(build_tools(project, true)),
              "pip install --no-build-isolation ."},
             "          TORCHPORT_BUILD: cpu\n          FORCE_CUDA: \"0\"\n");
  } else if (project.installable) {
    add_step(text, "Install the project", {"pip install ."});
  }
  add_step(text, "Install pytest", {"pip install pytest", build_check(target)});
  add_step(text, "Test", {"${{ matrix.run }}"});
  return text;
}

std::string pre_commit_config(const WorkflowOptions& options) {
  // A wheel's path does not exist where pre-commit makes its environments.
  const bool wheel = options.torchport.ends_with(".whl");
  const std::string language =
      wheel ? "        language: system  # torchport of the active environment\n"
            : fmt::format("        language: python\n        additional_dependencies: [{}]\n",
                          json_string(options.torchport));
  return fmt::format(
      "# Written by torchport {}: torchport ci\nrepos:\n  - repo: local\n    hooks:\n"
      "      - id: torchport-check\n        name: torchport check\n        entry: torchport check "
      "--quiet\n{}"
      "        types_or: [python, jupyter]\n        require_serial: true\n",
      options.version, language);
}

std::string default_branch(const base::FileSystem& fs, const std::string& root) {
  const auto text = fs.read(base::join_path(root, ".git/refs/remotes/origin/HEAD"));
  constexpr std::string_view kStart = "ref: refs/remotes/origin/";
  if (!text || !text->starts_with(kStart)) return {};
  return std::string(base::trim(std::string_view(*text).substr(kStart.size())));
}

}  // namespace torchport::scaffold
