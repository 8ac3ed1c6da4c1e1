// TP704: Dockerfiles whose images work only on machines with CUDA.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "source/edit/imports.h"
#include "source/rules/build/common/dockerfile.h"
#include "source/rules/build/common/requirement.h"

namespace torchport::rules::cuda_only_image {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP704",
    .name = "cuda-only-image",
    .family = "build",
    .severity = Severity::kWarning,
    .summary = "a Dockerfile makes an image for machines with CUDA only",
};

bool is_cuda_image(std::string_view image) {
  const std::string name = base::lower(image);
  if (name.starts_with("nvidia/") || name.find("/nvidia/") != std::string::npos) return true;
  const auto colon = name.find(':');
  const std::string repository = name.substr(0, colon);
  const std::string tag = colon == std::string::npos ? "" : name.substr(colon);
  return repository.find("pytorch") != std::string::npos && tag.find("cuda") != std::string::npos;
}

// The span of the image in "--platform=x image AS name".
base::Span image_of(const DockerLine& line) {
  std::size_t at = 0;
  while (at < line.text.size()) {
    const auto start = line.text.find_first_not_of(" \t", at);
    if (start == std::string_view::npos) break;
    const auto end = std::min(line.text.find_first_of(" \t", start), line.text.size());
    if (!line.text.substr(start).starts_with("--")) {
      return {line.offset + static_cast<std::uint32_t>(start),
              line.offset + static_cast<std::uint32_t>(end)};
    }
    at = end;
  }
  return {line.offset, line.offset};
}

// Packages that bring torch, beside those with torch in their name.
constexpr auto kBringTorch = std::to_array<std::string_view>(
    {"accelerate", "deepspeed", "diffusers", "fastai", "lightning", "peft", "timm", "transformers",
     "ultralytics", "vllm", "sglang", "xformers", "flash-attn", "bitsandbytes"});
// Installations whose list of packages is in another file.
constexpr auto kUnseenLists = std::to_array<std::string_view>(
    {"-r ", "-r=", "--requirement", "install .", "-e ", "env create", "env update", "environment.y",
     "poetry install", "uv sync", "pdm install", "pipenv", "setup.py", "pdm sync", "pixi install"});

bool has_one(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// Whether torch may be in the image: an instruction names it or a package that brings it, or
// installs a list that is not here. An image without it compiles something else, or has only the
// client of a server.
bool may_have_torch(const std::vector<DockerInstruction>& instructions) {
  for (const DockerInstruction& instruction : instructions) {
    for (const DockerLine& line : instruction.lines) {
      const std::string text = base::lower(line.text);
      if (text.find("torch") != std::string::npos) return true;
      if (instruction.keyword != "RUN") continue;
      if (has_one(text, kBringTorch)) return true;
      if (has_one(text, kUnseenLists) && text.find("client") == std::string::npos) return true;
    }
  }
  return false;
}

// The stages that are in the image: the last one, those with a name, and those that `--from=NUMBER`
// takes files from. Nothing of the others is.
class UsedStages {
 public:
  UsedStages(std::string_view text, const std::vector<DockerInstruction>& instructions) {
    static constexpr std::string_view kFrom = "--from=";
    for (auto at = text.find(kFrom); at != std::string_view::npos;
         at = text.find(kFrom, at + kFrom.size())) {
      const std::string_view rest = text.substr(at + kFrom.size(), 8);
      taken_.insert(std::string(rest.substr(0, rest.find_first_not_of("0123456789"))));
    }
    for (const DockerInstruction& instruction : instructions)
      if (instruction.keyword == "FROM") last_ = instruction.start;
  }

  // `from` is the stage with this number.
  [[nodiscard]] bool contain(const DockerInstruction& from, std::size_t number) const {
    return from.start == last_ ||
           base::lower(from.lines.front().text).find(" as ") != std::string::npos ||
           taken_.contains(std::to_string(number));
  }

 private:
  std::unordered_set<std::string> taken_;
  std::uint32_t last_ = 0;
};

void check_from(const TextContext& context, const DockerInstruction& from, bool first,
                Reporter& reporter) {
  const base::Span span = image_of(from.lines.front());
  const std::string_view image = context.text.substr(span.start, span.size());
  if (!is_cuda_image(image)) return;
  Finding& finding = reporter.report(
      span,
      fmt::format("`{}` is made for NVIDIA GPUs: other hosts pull gigabytes that they cannot use, "
                  "and other accelerators find no driver for them.",
                  image));
  Fix fix;
  fix.title =
      "make the base image a build argument: `--build-arg BASE_IMAGE=python:3.11` builds it for "
      "other hosts";
  if (first && context.text.find("BASE_IMAGE") == std::string_view::npos &&
      image.find('$') == std::string_view::npos) {
    fix.applicability = Applicability::kSafe;
    fix.edits = {{{from.start, from.start},
                  fmt::format("ARG BASE_IMAGE={}{}", image, edit::newline_of(context.text))},
                 {span, "${BASE_IMAGE}"}};
  }
  finding.fix.push_back(std::move(fix));
}

// Reports CUDA_VISIBLE_DEVICES=0,1 in an ENV. "" and -1 hide the GPUs, which does no harm.
void check_env(const DockerInstruction& env, Reporter& reporter) {
  static constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES";
  for (const DockerLine& line : env.lines) {
    const auto at = line.text.find(kName);
    if (at == std::string_view::npos || (at > 0 && base::is_identifier_char(line.text[at - 1])))
      continue;
    auto end = at + kName.size();
    if (end >= line.text.size() || (line.text[end] != '=' && line.text[end] != ' ')) continue;
    const auto value = line.text.find_first_not_of("= \"'", end);
    if (value == std::string_view::npos || line.text[value] < '0' || line.text[value] > '9')
      continue;
    end = std::min(line.text.find_first_of(" \t\"'", value), line.text.size());
    Finding& finding =
        reporter.report({line.offset + static_cast<std::uint32_t>(at),
                         line.offset + static_cast<std::uint32_t>(end)},
                        "The image fixes which GPUs a container sees, whatever the host has.");
    Fix fix;
    fix.title =
        "choose the GPUs when the container starts: `docker run --gpus ...` or `-e "
        "CUDA_VISIBLE_DEVICES=...`";
    finding.fix.push_back(std::move(fix));
  }
}

// Whether the word at this place is in a string that is only printed or written to a file.
bool is_written(std::string_view line, std::size_t at) {
  const auto echo = std::max(line.rfind("echo ", at) + 1, line.rfind("printf ", at) + 1);
  return echo > 0 && line.substr(echo - 1, at - echo + 1).find("&&") == std::string_view::npos;
}

void check_gpu_at_build(const DockerLine& line, Reporter& reporter) {
  for (const std::string_view word :
       {"torch.cuda.is_available()", "torch.cuda.get_device", "nvidia-smi"}) {
    const auto at = line.text.find(word);
    if (at == std::string_view::npos || is_written(line.text, at)) continue;
    const char before = at == 0 ? ' ' : line.text[at - 1];
    if (word == "nvidia-smi" && (before == '/' || before == '-' || before == '_')) continue;
    const auto start = line.offset + static_cast<std::uint32_t>(at);
    Finding& finding = reporter.report(
        {start, start + static_cast<std::uint32_t>(word.size())},
        "`docker build` never has a GPU, but this asks for one while the image is built.");
    Fix fix;
    fix.title = "ask when the container starts, or decide by `torch.version.cuda` and FORCE_CUDA";
    finding.fix.push_back(std::move(fix));
    return;
  }
}

// Checks the words of a command, without their quotes.
void check_words(const DockerLine& line, bool pip, bool conda, Reporter& reporter) {
  std::size_t at = 0;
  while (at < line.text.size()) {
    const auto start = line.text.find_first_not_of(" \t\"'", at);
    if (start == std::string_view::npos) return;
    const auto end = std::min(line.text.find_first_of(" \t\"'\\", start), line.text.size());
    at = end + 1;
    const std::string_view word = line.text.substr(start, end - start);
    if (word.empty()) continue;
    auto pin = conda ? pin_of_conda(word) : std::optional<Pin>{};
    if (!pin && pip) pin = pin_of_requirement(word);
    if (!pin && (pip || conda)) pin = pin_of_index(word);
    if (pin) report_pin(reporter, std::move(*pin), line.offset + static_cast<std::uint32_t>(start));
  }
}

void check_run(const DockerInstruction& run, Reporter& reporter) {
  bool pip = false;
  bool conda = false;
  for (const DockerLine& line : run.lines) {
    // A line counts as one command, because `pip install a && conda install b` is rare.
    const std::string_view text = line.text;
    const bool begins = text.find("install") != std::string_view::npos ||
                        text.find("create") != std::string_view::npos;
    if (begins) {
      pip =
          text.find("pip") != std::string_view::npos || text.find("uv ") != std::string_view::npos;
      conda = text.find("conda") != std::string_view::npos ||
              text.find("mamba") != std::string_view::npos;
      if (text.find("apt") != std::string_view::npos)
        pip = pip && text.find("pip install") != std::string_view::npos;
    } else if (text.starts_with("&&")) {
      pip = conda = false;
    }
    check_words(line, pip, conda, reporter);
    check_gpu_at_build(line, reporter);
    if (text.find("&&", 2) != std::string_view::npos && text.ends_with('\\') && !begins)
      pip = conda = false;
  }
}

// Whether a stage is one variant of several: `FROM nvidia/cuda:... AS gpu` beside one that needs no
// CUDA.
bool is_variant_stage(const DockerInstruction& from, bool has_other) {
  const std::string text = base::lower(from.lines.front().text);
  const auto as = text.find(" as ");
  if (!has_other || as == std::string::npos) return false;
  return text.find("gpu", as) != std::string::npos || text.find("cuda", as) != std::string::npos;
}

void check(const TextContext& context, Reporter& reporter) {
  if (is_cuda_variant(context.path)) return;
  const auto instructions = docker_instructions(context.lines);
  if (!may_have_torch(instructions)) return;
  bool has_other = false;
  for (const DockerInstruction& from : instructions) {
    if (from.keyword != "FROM" || from.lines.empty()) continue;
    const base::Span image = image_of(from.lines.front());
    has_other |= !is_cuda_image(context.text.substr(image.start, image.size()));
  }
  const UsedStages used(context.text, instructions);
  std::size_t stage = 0;
  bool variant = false;
  for (const DockerInstruction& instruction : instructions) {
    if (instruction.lines.empty()) continue;
    if (instruction.keyword == "FROM") {
      variant = is_variant_stage(instruction, has_other);
      if (!variant && used.contain(instruction, stage))
        check_from(context, instruction, stage == 0, reporter);
      ++stage;
    } else if (variant) {
      continue;
    } else if (instruction.keyword == "ENV") {
      check_env(instruction, reporter);
    } else if (instruction.keyword == "RUN") {
      check_run(instruction, reporter);
    }
  }
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {},
                                .python = nullptr,
                                .file_kinds = {FileKind::kDockerfile},
                                .text = &check}};

}  // namespace

}  // namespace torchport::rules::cuda_only_image
