// NVRTC's functions.
#include "nvrtc.h"

#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "cuda/runtime/memory.h"
#include "cuda/runtime/modules.h"
#include "cuda/runtime/nvrtc_build.h"

using torchport::cuda::RuntimeSource;

struct _nvrtcProgram {
  RuntimeSource source{};
  std::vector<std::string> expressions{};
  std::map<std::string, std::string> lowered{};
  std::string text{};  // of the module
  std::string log{};
  bool compiled = false;
};

namespace {

constexpr std::array<int, 13> kArchitectures{75,  80,  86,  87,  88,  89, 90,
                                             100, 103, 110, 120, 121, 0};

// Options that only NVRTC has, and that change nothing here.
bool is_of_nvrtc(std::string_view option) {
  while (option.substr(0, 1) == "-") option.remove_prefix(1);
  option = option.substr(0, option.find('='));
  static constexpr std::array<std::string_view, 22> kNames{"default-device",
                                                           "device-as-default-execution-space",
                                                           "no-source-include",
                                                           "builtin-move-forward",
                                                           "builtin-initializer-list",
                                                           "pch",
                                                           "create-pch",
                                                           "use-pch",
                                                           "pch-dir",
                                                           "pch-verbose",
                                                           "pch-messages",
                                                           "instantiate-templates-in-pch",
                                                           "minimal",
                                                           "device-int128",
                                                           "device-float128",
                                                           "modify-stack-limit",
                                                           "dopt",
                                                           "dlink-time-opt",
                                                           "frandom-seed",
                                                           "no-cache",
                                                           "fdevice-syntax-only",
                                                           "version-ident"};
  for (const std::string_view one : kNames)
    if (option == one) return true;
  return false;
}

int architecture_of(const std::vector<std::string>& options) {
  for (const std::string& one : options) {
    for (const std::string_view prefix : {"sm_", "compute_"}) {
      const auto at = one.find(prefix);
      if (at != std::string::npos) {
        int number = 0;
        std::from_chars(one.data() + at + prefix.size(), one.data() + one.size(), number);
        return number;
      }
    }
  }
  return 75;
}

nvrtcResult size_of(const std::string& text, size_t* size) {
  if (size == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *size = text.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult copied(const std::string& text, char* to) {
  if (to == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NVRTC_SUCCESS;
}

// "&offset" names a variable, "kernel<float>" a kernel.
std::string_view without_address_of(std::string_view expression) {
  const auto begin = expression.find_first_not_of("& \t\n");
  return begin == std::string_view::npos ? expression : expression.substr(begin);
}

// The names of kernels and variables in the library.
bool find_names(_nvrtcProgram& program, const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    program.log += dlerror();
    return false;
  }
  for (std::size_t i = 0; i < program.expressions.size(); ++i) {
    void* found = dlsym(handle, fmt::format("torchport_name_{}", i).c_str());
    Dl_info info{};
    void* address = found == nullptr ? nullptr : reinterpret_cast<void* (*)()>(found)();
    if (address == nullptr) continue;
    // Of a variable: the name that cuModuleGetGlobal knows.
    if (const auto variable = torchport::cuda::range_of(address);
        variable && variable->name != nullptr) {
      program.lowered[program.expressions[i]] = variable->name;
      continue;
    }
    if (dladdr(address, &info) == 0 || info.dli_sname == nullptr) continue;
    program.lowered[program.expressions[i]] = info.dli_sname;
  }
  return true;
}

}  // namespace

const char* nvrtcGetErrorString(nvrtcResult result) {
  static constexpr std::array<const char*, 13> kNames{
      "NVRTC_SUCCESS",
      "NVRTC_ERROR_OUT_OF_MEMORY",
      "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
      "NVRTC_ERROR_INVALID_INPUT",
      "NVRTC_ERROR_INVALID_PROGRAM",
      "NVRTC_ERROR_INVALID_OPTION",
      "NVRTC_ERROR_COMPILATION",
      "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
      "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
      "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
      "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
      "NVRTC_ERROR_INTERNAL_ERROR",
      "NVRTC_ERROR_TIME_FILE_WRITE_FAILED"};
  const auto number = static_cast<std::size_t>(result);
  return number < kNames.size() ? kNames[number] : "NVRTC_ERROR unknown";
}
nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (count == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *count = static_cast<int>(kArchitectures.size()) - 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  if (architectures == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  for (std::size_t i = 0; kArchitectures[i] != 0; ++i) architectures[i] = kArchitectures[i];
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name,
                               int headerCount, const char* const* headers,
                               const char* const* headerNames) {
  if (program == nullptr || source == nullptr || headerCount < 0) return NVRTC_ERROR_INVALID_INPUT;
  auto* made = new _nvrtcProgram();
  made->source.text = source;
  made->source.name = name == nullptr || *name == '\0' ? "default_program" : name;
  for (int i = 0; i < headerCount; ++i)
    made->source.headers.emplace_back(headerNames[i], headers[i]);
  *program = made;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || *program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (expression == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  if (program->compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  program->expressions.emplace_back(expression);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (count < 0 || (count > 0 && options == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  RuntimeSource source = program->source;
  bool has_standard = false;
  for (int i = 0; i < count; ++i) {
    const std::string_view one = options[i];
    if (is_of_nvrtc(one)) continue;
    has_standard = has_standard || one.find("std=") != std::string_view::npos;
    source.options.emplace_back(one);
  }
  if (!has_standard) source.options.emplace_back("-std=c++17");
  source.text +=
      "\nextern \"C\" { __attribute__((visibility(\"default\"))) char torchport_module_mark = 0; "
      "}\n";
  for (std::size_t i = 0; i < program->expressions.size(); ++i)
    source.text += fmt::format(
        "extern \"C\" __attribute__((visibility(\"default\"))) void* torchport_name_{}() "
        "{{ return reinterpret_cast<void*>(&({})); }}\n",
        i, without_address_of(program->expressions[i]));
  const auto built = torchport::cuda::build_at_run_time(source);
  program->compiled = true;
  program->log = built.log;
  if (built.library.empty())
    return built.log.find("nvcc has no option") != std::string::npos ? NVRTC_ERROR_INVALID_OPTION
                                                                     : NVRTC_ERROR_COMPILATION;
  if (!find_names(*program, built.library)) return NVRTC_ERROR_COMPILATION;
  program->text = torchport::cuda::module_text(built.library, architecture_of(source.options));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) {
  return program == nullptr ? NVRTC_ERROR_INVALID_PROGRAM : size_of(program->text, size);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* text) {
  return program == nullptr ? NVRTC_ERROR_INVALID_PROGRAM : copied(program->text, text);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  return nvrtcGetPTXSize(program, size);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* text) {
  return nvrtcGetPTX(program, text);
}
nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram, size_t*) {
  return NVRTC_ERROR_INVALID_PROGRAM;
}
nvrtcResult nvrtcGetLTOIR(nvrtcProgram, char*) {
  return NVRTC_ERROR_INVALID_PROGRAM;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  return program == nullptr ? NVRTC_ERROR_INVALID_PROGRAM : size_of(program->log, size);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* text) {
  return program == nullptr ? NVRTC_ERROR_INVALID_PROGRAM : copied(program->log, text);
}
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (expression == nullptr || name == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  if (!program->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  const auto found = program->lowered.find(expression);
  if (found == program->lowered.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  *name = found->second.c_str();
  return NVRTC_SUCCESS;
}
