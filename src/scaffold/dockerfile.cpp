#include <fmt/format.h>

#include "base/file_system.h"
#include "scaffold/container.h"
#include "scaffold/device_target.h"
#include "scaffold/install_steps.h"
#include "scaffold/shell.h"

namespace torchport::scaffold {

namespace {

constexpr std::string_view kCache =
    "RUN --mount=type=cache,target=/root/.cache/pip,sharing=locked \\\n";
// Debian's and Ubuntu's archives do not keep old versions for long, so a pinned version soon
// disappears.
constexpr std::string_view kUnpinnedPackages = "# hadolint ignore=DL3008\n";
constexpr std::string_view kUser = "10001";

// Writes the stages of one project's Dockerfile.
class Stages {
 public:
  Stages(const Project& project, const Target& target, const ContainerOptions& options)
      : project_(project), target_(target), options_(options) {}

  [[nodiscard]] std::string text() {
    header();
    if (!target_.images.toolkit.empty())
      line(
          "\n# The toolkit is needed to compile; the image does not contain it.\nFROM {} AS "
          "toolkit",
          target_.images.toolkit);
    build();
    runtime();
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }

  void header() {
    line("# syntax=docker/dockerfile:1");
    line("# Written by torchport {}: torchport container --device {}", options_.version,
         target_.device->name);
    line("# torch {}+{}, Python {}", target_.torch, target_.variant, target_.python);
  }

  void packages(const std::vector<std::string>& names) {
    if (names.empty()) return;
    text_ += kUnpinnedPackages;
    line(
        "RUN apt-get update \\\n && apt-get install -y --no-install-recommends {} \\\n"
        " && rm -rf /var/lib/apt/lists/*",
        fmt::join(names, " "));
  }

  void build() {
    line("\nFROM {} AS build", target_.images.build);
    packages(target_.images.build_packages);
    line("RUN {} -m venv /opt/venv", target_.images.python);
    line("ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1");
    line("WORKDIR /src");
    torch();
    requirements();
    tools();
    if (project_.installable) install();
    line("# The steps above must not have installed another build of torch.");
    line("RUN {}", build_check(target_));
  }

  // It comes first, because it is the largest layer and changes least.
  void torch() {
    line("# The build of torch for {}, from the index of these builds.", target_.device->name);
    if (leaves_versions_open(target_))
      line("# pip finds the versions that match this torch.\n# hadolint ignore=DL3013");
    run({torch_command(target_)});
  }

  // The line above replaces what the project's files say about torch.
  void requirements() {
    const auto commands = requirement_commands(project_, options_.requirement_files);
    if (commands.empty()) return;
    for (const std::string& file : project_.requirement_files) line("COPY {0} ./{0}", file);
    run(commands);
  }

  // Runs commands with pip's cache.
  void run(const std::vector<std::string>& commands) {
    text_ += kCache;
    line("    {}", fmt::join(commands, " \\\n && "));
  }

  void install() {
    if (!project_.extension) {
      line("COPY . .");
      run({"pip install ."});
      return;
    }
    // The extension is built against the installed torch, so without build isolation.
    compilers();
    line("COPY . .");
    run({"pip install --no-build-isolation ."});
  }

  // The variables that decide what is compiled, because the build has no GPU to look at.
  void compilers() {
    if (!target_.images.toolkit.empty())
      line("COPY --from=toolkit {}/ /usr/local/cuda/", target_.images.toolkit_folder);
    const std::optional<GpuCode>& code = target_.device->gpu_code;
    line("ENV {}", code && !target_.arch_list.empty() ? code->variables(target_.arch_list)
                                                      : "TORCHPORT_BUILD=cpu FORCE_CUDA=0");
  }

  // Installs torchport, for the health check and for projects that are built with it, and the build
  // tools.
  void tools() {
    const std::string& from = options_.torchport;
    const bool wheel = from.ends_with(".whl");
    const std::string target = fmt::format("/tmp/{}", base::file_name(from));
    std::vector<std::string> commands;
    if (!from.empty())
      commands.push_back("pip install --no-deps " + shell_word(wheel ? target : from));
    if (project_.installable && project_.extension)
      commands.push_back("pip install " + shell_words(build_tools(project_, !from.empty())));
    if (commands.empty()) return;
    line(
        "# A separate layer: it changes with the tools, not with the requirements.\n"
        "# hadolint ignore=DL3013,DL3059");
    text_ += kCache;
    if (wheel) line("    --mount=type=bind,source={},target={} \\", from, target);
    line("    {}", fmt::join(commands, " \\\n && "));
  }

  void runtime() {
    line("\nFROM {} AS runtime", target_.images.runtime);
    labels();
    packages(target_.images.runtime_packages);
    line(
        "RUN groupadd --gid {0} app \\\n && useradd --no-log-init --uid {0} --gid app "
        "--create-home "
        "--shell /usr/sbin/nologin app \\\n && install -d -o app -g app /app",
        kUser);
    line(
        "ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 "
        "PYTHONDONTWRITEBYTECODE=1");
    if (!target_.device->variables.empty()) line("ENV {}", target_.device->variables);
    line("COPY --from=build /opt/venv /opt/venv");
    line("WORKDIR /app");
    if (options_.copy_sources) line("COPY --chown={0}:{0} . .", kUser);
    line("USER {0}:{0}", kUser);
    if (!options_.torchport.empty())
      line("HEALTHCHECK --interval=60s --timeout=10s --start-period=10s --retries=3 \\\n    CMD {}",
           json_list({"torchport", "doctor", "--require", std::string(target_.device->name)}));
    if (options_.entry.empty())
      line("CMD [\"python\"]");
    else
      line("ENTRYPOINT {}", json_list(options_.entry));
  }

  void labels() {
    line("LABEL org.opencontainers.image.title={} \\", json_string(image_name(project_)));
    if (!project_.version.empty())
      line("      org.opencontainers.image.version={} \\", json_string(project_.version));
    line("      org.opencontainers.image.base.name={} \\", json_string(target_.images.runtime));
    if (!target_.arch_list.empty())
      line("      torchport.archs={} \\", json_string(target_.arch_list));
    line("      torchport.device={} \\", json_string(target_.device->name));
    line("      torchport.torch={}", json_string(target_.torch + "+" + target_.variant));
  }

  const Project& project_;
  const Target& target_;
  const ContainerOptions& options_;
  std::string text_;
};

}  // namespace

std::string image_name(const Project& project) {
  std::string name;
  for (const char c : versions::normalised_name(project.name)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "app" : name;
}

std::string dockerfile(const Project& project, const Target& target,
                       const ContainerOptions& options) {
  return Stages(project, target, options).text();
}

}  // namespace torchport::scaffold
