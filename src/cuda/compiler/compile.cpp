#include "cuda/compiler/compile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process.h"
#include "base/temporary_folder.h"
#include "cuda/ptx/translate.h"
#include "cuda/source/rewrite.h"

namespace torchport::cuda {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// The toolkit that a compilation pretends to be.
constexpr int kMajor = 13;
constexpr int kMinor = 0;
constexpr int kBuild = 88;

bool ends_with_any(const std::string& path, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return path.ends_with(end); });
}

class Compilation {
 public:
  Compilation(const NvccOptions& options, const Toolkit& toolkit, base::TemporaryFolder folder)
      : options_(options), toolkit_(toolkit), folder_(std::move(folder)) {}

  base::Result<int> run() {
    if (options_.verbose) tell_toolkit();
    if (options_.phase == Phase::kNothing) return empty_object();
    for (const std::string& input : options_.inputs) {
      if (input.starts_with("-l") || !is_source(input)) {
        objects_.push_back(input);
        continue;
      }
      std::error_code error;
      if (!fs::exists(input, error))
        return base::fail(base::ErrorCode::kIo, "there is no such file", input);
      auto done = is_cuda(input) ? cuda_source(input) : host_source(input);
      if (!done || *done != 0) return done;
    }
    if (objects_.empty() && options_.inputs.empty())
      return base::fail(base::ErrorCode::kUsage, "no input file; try `torchport nvcc x.cu -o x`");
    if (options_.phase == Phase::kLink) return link();
    if (options_.phase == Phase::kLibrary) return library();
    return 0;
  }

 private:
  [[nodiscard]] bool is_source(const std::string& path) const {
    if (!options_.language.empty() && !ends_with_any(path, {".o", ".a", ".so"})) return true;
    return ends_with_any(path, {".cu", ".cpp", ".cc", ".cxx", ".c", ".ii", ".i", ".cuh", ".C"});
  }
  [[nodiscard]] bool is_cuda(const std::string& path) const {
    return options_.language.empty() ? ends_with_any(path, {".cu", ".cuh"})
                                     : options_.language == "cu";
  }

  // CMake learns from these lines where the toolkit is, and what a program is linked with.
  void tell_toolkit() const {
    const char* path = std::getenv("PATH");
    fmt::print(stderr,
               "#$ _CUDART_=cudart\n#$ TOP={0}\n#$ NVVMIR_LIBRARY_DIR={0}/nvvm/libdevice\n"
               "#$ PATH={1}\n#$ INCLUDES=\"-I{0}/include\"\n#$ LIBRARIES={2}\n"
               "#$ _TARGET_=-arch compute_{3} -arch=compute_{3}\n",
               toolkit_.folder, path == nullptr ? "" : path, library_words(),
               options_.architecture);
  }
  [[nodiscard]] std::string library_words() const {
    return fmt::format("-L{}/lib64", toolkit_.folder);
  }

  // Where the object of a source goes.
  [[nodiscard]] std::string object_of(const std::string& source) {
    if (options_.phase == Phase::kCompile) {
      if (!options_.output.empty()) return options_.output;
      const fs::path name = fs::path(source).stem().string() + ".o";
      return options_.output_folder.empty() ? name.string()
                                            : (fs::path(options_.output_folder) / name).string();
    }
    return folder_.file(fmt::format("{}-{}.o", objects_.size(), fs::path(source).stem().string()));
  }

  base::Result<int> execute(const Words& words) {
    if (options_.verbose) fmt::print(stderr, "#$ {}\n", fmt::join(words, " "));
    if (options_.dry_run) return 0;
    auto ended = base::run({.words = words});
    if (!ended) {
      return base::fail(
          base::ErrorCode::kIo,
          fmt::format("there is no host compiler {} (Debian: apt install g++)", words.front()));
    }
    std::fputs(ended->output.c_str(), stdout);
    std::fputs(ended->errors.c_str(), stderr);
    if (lacks_headers(ended->errors))
      std::fputs(
          "torchport: the headers of cub, thrust and cuda::std are a package: "
          "pip install nvidia-cuda-cccl-cu12==12.9.27\n",
          stderr);
    return ended->status();
  }

  static bool lacks_headers(std::string_view errors) {
    for (const std::string_view folder :
         {"error: cub/", "error: thrust/", "error: cuda/", "error: nv/"})
      if (errors.find(folder) != std::string_view::npos) return true;
    return false;
  }

  // What both kinds of sources are preprocessed with.
  void add_preprocess(Words& words) const {
    // Before the program's own copy of CUDA's C++ libraries.
    words.push_back("-I" + toolkit_.folder + "/before_others");
    words.insert(words.end(), options_.preprocess.begin(), options_.preprocess.end());
    words.push_back("-I" + toolkit_.folder + "/include");
    for (const std::string& one : toolkit_.includes) {
      words.emplace_back("-isystem");
      words.push_back(one);
    }
  }

  void add_dependencies(Words& words, const std::string& object) const {
    words.insert(words.end(), options_.dependencies.begin(), options_.dependencies.end());
    const auto has = [&](std::string_view flag) {
      return std::find(options_.dependencies.begin(), options_.dependencies.end(), flag) !=
             options_.dependencies.end();
    };
    if ((has("-MD") || has("-MMD")) && !has("-MF")) {
      words.emplace_back("-MF");
      words.push_back(fs::path(object).replace_extension(".d").string());
    }
    if (!options_.dependencies.empty() && !has("-MT") && !has("-MQ")) {
      words.emplace_back("-MT");
      words.push_back(object);
    }
  }

  [[nodiscard]] Words language_words() const {
    Words words{fmt::format("-std={}", gnu_standard())};
    for (const std::string& one : {fmt::format("-D__CUDACC_VER_MAJOR__={}", kMajor),
                                   fmt::format("-D__CUDACC_VER_MINOR__={}", kMinor),
                                   fmt::format("-D__CUDACC_VER_BUILD__={}", kBuild),
                                   fmt::format("-D__CUDA_ARCH__={}0", options_.architecture),
                                   fmt::format("-D__CUDA_ARCH_LIST__={}0", options_.architecture),
                                   std::string("-D__CUDACC__"), std::string("-D__NVCC__"),
                                   fmt::format("-D__TORCHPORT_NVCC__={}", toolkit_.number),
                                   std::string("-DCCCL_DISABLE_NVTX")})
      words.push_back(one);
    if (options_.architecture == 90) words.emplace_back("-D__CUDA_ARCH_FEAT_SM90_ALL=1");
    if (options_.extended_lambda) words.emplace_back("-D__CUDACC_EXTENDED_LAMBDA__");
    if (options_.relaxed_constexpr) words.emplace_back("-D__CUDACC_RELAXED_CONSTEXPR__");
    if (options_.relocatable) words.emplace_back("-D__CUDACC_RDC__");
    if (contracts()) words.emplace_back("-D__TORCHPORT_CONTRACT__");
    if (options_.flush_denormals) words.emplace_back("-D__TORCHPORT_FTZ__");
    if (options_.fast_math) words.emplace_back("-D__USE_FAST_MATH__");
    if (options_.debug) words.emplace_back("-D__CUDACC_DEBUG__");
    if (options_.check) words.emplace_back("-D__TORCHPORT_CHECK__");
    return words;
  }

  static bool has_fma() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  }
  [[nodiscard]] bool contracts() const { return options_.contract && has_fma(); }

  // nvcc's "c++17" is that of its host compiler, with GNU's extensions.
  [[nodiscard]] std::string gnu_standard() const {
    return options_.standard.starts_with("c++") ? "gnu" + options_.standard.substr(1)
                                                : options_.standard;
  }

  base::Result<int> cuda_source(const std::string& source) {
    const std::string object = object_of(source);
    Words words{options_.host_compiler, "-E", "-x", "c++"};
    for (const std::string& one : options_.host)
      if (!one.starts_with("-g")) words.push_back(one);
    for (std::string& one : language_words()) words.push_back(std::move(one));
    words.emplace_back("-include");
    words.emplace_back("cuda_runtime.h");
    add_preprocess(words);
    const std::string expanded =
        folder_.file(fmt::format("{}-{}.ii", objects_.size(), fs::path(source).stem().string()));
    if (options_.phase == Phase::kDependencies || options_.phase == Phase::kPreprocess) {
      add_dependencies(words, fs::path(source).stem().string() + ".o");
      if (options_.phase == Phase::kDependencies) std::erase(words, "-E");
      words.push_back(source);
      if (!options_.output.empty()) {
        words.emplace_back("-o");
        words.push_back(options_.output);
      }
      return execute(words);
    }
    add_dependencies(words, object);
    words.insert(words.end(), {source, "-o", expanded});
    if (auto done = execute(words); !done || *done != 0) return done;
    const std::string rewritten = folder_.file(
        fmt::format("{}-{}.cudafe.ii", objects_.size(), fs::path(source).stem().string()));
    if (!options_.dry_run) {
      if (auto done = rewrite_file(expanded, rewritten); !done)
        return tl::make_unexpected(done.error());
    }
    if (options_.keep) {
      std::error_code ignored;
      fs::copy_file(rewritten, fs::path(rewritten).filename(), fs::copy_options::overwrite_existing,
                    ignored);
    }
    if (auto done = execute(compile_words(rewritten, object)); !done || *done != 0) return done;
    objects_.push_back(object);
    return 0;
  }

  base::Result<void> rewrite_file(const std::string& from, const std::string& to) const {
    std::ifstream in(from, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    RewriteOptions how;
    how.relocatable = options_.relocatable;
    how.contract = contracts();
    how.check = options_.check;
    how.toolkit_folders = {toolkit_.folder + "/include/"};
    how.split = !options_.debug;  // a debugger sees each thread
    std::error_code error;
    for (const char* const folder : {"/before_others/", "/include/"})
      how.host_folders.push_back(fs::weakly_canonical(toolkit_.folder + folder, error).string());
    // A header may have an instruction that nobody reaches: refused where it runs.
    how.translate_asm = [](const AsmStatement& one) -> base::Result<std::string> {
      auto translated = translate_asm(one);
      return translated ? *translated : refusing_statement(translated.error().message);
    };
    auto result = rewrite(text, how);
    if (!result) return tl::make_unexpected(result.error());
    std::ofstream out(to, std::ios::binary);
    out << *result;
    out.close();
    if (!out) return base::fail(base::ErrorCode::kIo, "cannot be written", to);
    return {};
  }

  [[nodiscard]] Words compile_words(const std::string& source, const std::string& object) const {
    Words words{options_.host_compiler, "-c", "-x", "c++-cpp-output",
                fmt::format("-std={}", gnu_standard())};
    // nvcc compiles device code with -O3 unless it is told otherwise.
    std::string level = options_.optimize.empty() ? "3" : options_.optimize;
    if (options_.debug) level = "0";
    if (options_.check) {
      add_checks(words);
      level = "1";
    }
    words.push_back("-O" + level);
    if (has_fma()) words.insert(words.end(), {"-mavx2", "-mfma", "-mf16c"});
    // printf of kernels is a function of the toolkit's headers.
    words.emplace_back("-fno-builtin-printf");
    // A device neither traps nor sets errno.
    words.insert(words.end(), {"-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"});
    words.insert(words.end(), {"-Wno-unknown-pragmas", "-Wno-attributes", "-Wno-unused-value",
                               // nvcc's front end takes code that GCC refuses otherwise: a name
                               // that a class uses before it declares it anew (cub does).
                               "-fpermissive",
                               // CUDA code reads values as other types through pointers.
                               "-fno-strict-aliasing"});
    if (options_.no_warnings) words.emplace_back("-w");
    words.insert(words.end(), options_.host.begin(), options_.host.end());
    words.insert(words.end(), {source, "-o", object});
    return words;
  }

  // Calls before each access, which libtorchport_cuda_check.so answers, and lines for its reports.
  // Also before shifts and casts that C++ does not define. A vector stays one access, so that its
  // alignment is seen.
  static void add_checks(Words& words) {
    for (const char* one :
         {"-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0",
          "--param=tsan-distinguish-volatile=1", "-fsanitize=bounds", "-fsanitize=alignment",
          "-fsanitize=shift-exponent", "-fsanitize=float-cast-overflow", "-fno-tree-sra",
          "-fno-ipa-sra", "-fno-tree-loop-distribute-patterns", "-g", "-fno-var-tracking"})
      words.emplace_back(one);
  }

  base::Result<int> host_source(const std::string& source) {
    const std::string object = object_of(source);
    Words words{options_.host_compiler};
    if (options_.phase == Phase::kPreprocess) words.emplace_back("-E");
    if (options_.phase != Phase::kPreprocess && options_.phase != Phase::kDependencies)
      words.emplace_back("-c");
    const bool is_c =
        options_.language == "c" || (options_.language.empty() && source.ends_with(".c"));
    if (!options_.language.empty()) words.insert(words.end(), {"-x", options_.language});
    if (!is_c) words.push_back(fmt::format("-std={}", gnu_standard()));
    if (!options_.optimize.empty()) words.push_back("-O" + options_.optimize);
    if (options_.no_warnings) words.emplace_back("-w");
    words.insert(words.end(), options_.host.begin(), options_.host.end());
    add_preprocess(words);
    add_dependencies(words, object);
    words.push_back(source);
    if (options_.phase == Phase::kPreprocess || options_.phase == Phase::kDependencies) {
      if (!options_.output.empty()) words.insert(words.end(), {"-o", options_.output});
      return execute(words);
    }
    words.insert(words.end(), {"-o", object});
    auto done = execute(words);
    objects_.push_back(object);
    return done;
  }

  base::Result<int> link() {
    Words words{options_.host_compiler};
    if (options_.shared) words.emplace_back("-shared");
    for (const std::string& one : options_.host)
      if (!one.starts_with("-W") || one.starts_with("-Wl,")) words.push_back(one);
    words.insert(words.end(), {"-o", options_.output.empty() ? "a.out" : options_.output});
    // As nvcc does, libraries behind all objects.
    const auto is_library = [](const std::string& one) { return one.starts_with("-l"); };
    std::stable_partition(objects_.begin(), objects_.end(), std::not_fn(is_library));
    words.insert(words.end(), objects_.begin(), objects_.end());
    words.insert(words.end(), options_.link.begin(), options_.link.end());
    const std::string libraries = toolkit_.folder + "/lib64";
    words.insert(words.end(), {library_words(), "-Wl,-rpath," + libraries, "-lcudart", "-lpthread",
                               "-ldl", "-lrt"});
    return execute(words);
  }

  base::Result<int> library() {
    Words words{"ar", "rcs", options_.output.empty() ? "a.a" : options_.output};
    words.insert(words.end(), objects_.begin(), objects_.end());
    return execute(words);
  }

  // -dlink: the device code of the objects is linked by the host's linker; what is asked for is an
  // object.
  base::Result<int> empty_object() {
    const std::string source = folder_.file("device_link.cpp");
    std::ofstream(source) << "\n";
    return execute({options_.host_compiler, "-c", "-fPIC", source, "-o",
                    options_.output.empty() ? "a_dlink.o" : options_.output});
  }

  const NvccOptions& options_;
  const Toolkit& toolkit_;
  base::TemporaryFolder folder_;
  Words objects_;
};

}  // namespace

base::Result<int> compile(const NvccOptions& options, const Toolkit& toolkit) {
  auto folder = base::TemporaryFolder::make("torchport-nvcc");
  if (!folder) return tl::make_unexpected(folder.error());
  return Compilation(options, toolkit, std::move(*folder)).run();
}

}  // namespace torchport::cuda
