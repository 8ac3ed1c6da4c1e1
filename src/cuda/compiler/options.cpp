#include "cuda/compiler/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "base/nearest.h"

namespace torchport::cuda {

namespace {

using Words = std::vector<std::string>;
using Set = base::Result<void> (*)(NvccOptions&, const std::string& name, const std::string& value);

struct Flag {
  std::string_view names;  // separated by spaces, without the dashes
  bool takes_value;
  Set set;
};

base::Result<void> nothing(NvccOptions& /*options*/, const std::string& /*name*/,
                           const std::string& /*value*/) {
  return {};
}

base::Result<void> refused(std::string message) {
  return base::fail(base::ErrorCode::kUsage, std::move(message));
}

// -Xcompiler a,b and -Xcompiler=a,b; a comma behind a backslash is one of the flag's own.
Words split_commas(const std::string& text) {
  Words parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',')
      parts.back() += text[++i];
    else if (text[i] == ',')
      parts.emplace_back();
    else if (text[i] != '"' && text[i] != '\'')
      parts.back() += text[i];
  }
  std::erase(parts, "");
  return parts;
}

bool is_true(const std::string& value) {
  return value.empty() || value == "true" || value == "1";
}

// sm_90a, compute_80, compute_80,code=[sm_80,compute_80], native, all-major.
void note_architectures(NvccOptions& options, std::string_view text) {
  int newest = 0;
  for (const std::string_view prefix : {"sm_", "compute_", "lto_"}) {
    for (auto at = text.find(prefix); at != std::string_view::npos;
         at = text.find(prefix, at + 1)) {
      int number = 0;
      const char* begin = text.data() + at + prefix.size();
      std::from_chars(begin, text.data() + text.size(), number);
      newest = std::max(newest, number);
    }
  }
  if (newest == 0) return;
  static constexpr int kDefault = 75;
  options.architecture =
      options.architecture == kDefault ? newest : std::max(options.architecture, newest);
}

base::Result<void> phase(NvccOptions& options, const std::string& name, const std::string& /*v*/) {
  static const std::map<std::string_view, Phase> kPhases{
      {"c", Phase::kCompile},
      {"compile", Phase::kCompile},
      {"dc", Phase::kCompile},
      {"device-c", Phase::kCompile},
      {"dw", Phase::kCompile},
      {"device-w", Phase::kCompile},
      {"E", Phase::kPreprocess},
      {"preprocess", Phase::kPreprocess},
      {"M", Phase::kDependencies},
      {"MM", Phase::kDependencies},
      {"generate-dependencies", Phase::kDependencies},
      {"generate-nonsystem-dependencies", Phase::kDependencies},
      {"lib", Phase::kLibrary},
      {"dlink", Phase::kNothing},
      {"device-link", Phase::kNothing},
      {"link", Phase::kLink},
      {"shared", Phase::kLink}};
  options.phase = kPhases.at(name);
  if (name == "shared") options.shared = true;
  if (name == "dc" || name == "device-c") options.relocatable = true;
  if (name == "M" || name == "generate-dependencies") options.dependencies.emplace_back("-M");
  if (name == "MM" || name == "generate-nonsystem-dependencies")
    options.dependencies.emplace_back("-MM");
  return {};
}

base::Result<void> device_code(NvccOptions& /*options*/, const std::string& name,
                               const std::string& /*value*/) {
  return refused(fmt::format(
      "-{} asks for code of a GPU; torchport compiles kernels for virtual devices, which have none",
      name));
}

base::Result<void> preprocess_word(NvccOptions& options, const std::string& name,
                                   const std::string& value) {
  static const std::map<std::string_view, std::string_view> kLong{{"define-macro", "D"},
                                                                  {"undefine-macro", "U"},
                                                                  {"include-path", "I"},
                                                                  {"pre-include", "include"},
                                                                  {"system-include", "isystem"}};
  const auto found = kLong.find(name);
  const std::string_view flag = found == kLong.end() ? std::string_view(name) : found->second;
  const bool lists = flag == "U" || flag == "I" || flag == "isystem";
  // A macro's value has commas of its own.
  for (const std::string& one : lists ? split_commas(value) : Words{value}) {
    if (flag.size() == 1) {
      options.preprocess.push_back(fmt::format("-{}{}", flag, one));
    } else {
      options.preprocess.push_back(fmt::format("-{}", flag));
      options.preprocess.push_back(one);
    }
  }
  return {};
}

base::Result<void> dependency_word(NvccOptions& options, const std::string& name,
                                   const std::string& value) {
  static const std::map<std::string_view, std::string_view> kLong{
      {"dependency-output", "MF"},
      {"dependency-target-name", "MT"},
      {"generate-dependency-targets", "MP"},
      {"generate-dependencies-with-compile", "MD"},
      {"generate-nonsystem-dependencies-with-compile", "MMD"}};
  const auto found = kLong.find(name);
  options.dependencies.push_back(
      fmt::format("-{}", found == kLong.end() ? std::string_view(name) : found->second));
  if (!value.empty()) options.dependencies.push_back(value);
  return {};
}

base::Result<void> host_words(NvccOptions& options, const std::string& /*name*/,
                              const std::string& value) {
  for (std::string& one : split_commas(value)) options.host.push_back(std::move(one));
  return {};
}

base::Result<void> linker_words(NvccOptions& options, const std::string& /*name*/,
                                const std::string& value) {
  for (const std::string& one : split_commas(value)) options.link.push_back("-Wl," + one);
  return {};
}

const std::vector<Flag> kFlags{
    {"c compile dc device-c dw device-w E preprocess M MM generate-dependencies "
     "generate-nonsystem-dependencies lib dlink device-link link shared",
     false, &phase},
    {"ptx cubin fatbin optix-ir ltoir", false, &device_code},
    {"o output-file", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.output = v;
       return {};
     }},
    {"odir output-directory", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.output_folder = v;
       return {};
     }},
    {"x", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.language = v;
       return v == "cu" || v == "c++" || v == "c"
                  ? base::Result<void>()
                  : refused(fmt::format("-x {}: the languages are c, c++ and cu", v));
     }},
    {"std", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.standard = v;
       o.standard_given = true;
       return {};
     }},
    {"D define-macro U undefine-macro I include-path isystem system-include include pre-include",
     true, &preprocess_word},
    {"MF dependency-output MT dependency-target-name MQ", true, &dependency_word},
    {"MD MMD MP generate-dependencies-with-compile generate-dependency-targets "
     "generate-nonsystem-dependencies-with-compile",
     false, &dependency_word},
    {"L library-path", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       for (const std::string& one : split_commas(v)) o.link.push_back("-L" + one);
       return {};
     }},
    {"l library", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       for (const std::string& one : split_commas(v)) o.inputs.push_back("-l" + one);
       return {};
     }},
    {"O optimize", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.optimize = v;
       return {};
     }},
    {"arch gpu-architecture gencode generate-code code gpu-code", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       note_architectures(o, v);
       return {};
     }},
    {"Xcompiler compiler-options", true, &host_words},
    {"Xlinker linker-options", true, &linker_words},
    {"Xptxas ptxas-options Xnvlink nvlink-options Xarchive archive-options Xcudafe Xfatbin Xcicc "
     "maxrregcount t threads split-compile split-compile-extended cudart cudadevrt "
     "prec-div prec-sqrt m machine default-stream diag-suppress diag-error diag-warn "
     "brief-diagnostics time keep-dir target-dir ldir idir gpu-max-threads compress-mode "
     "dependency-drive-prefix drive-prefix fdevice-time-trace jump-table-density Ofast-compile "
     "Ofc device-entity-has-hidden-visibility static-global-template-stub",
     true, &nothing},
    {"ftz", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.flush_denormals = is_true(v);
       return {};
     }},
    {"fmad", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.contract = is_true(v);
       return {};
     }},
    {"rdc relocatable-device-code", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.relocatable = is_true(v);
       return {};
     }},
    {"ccbin compiler-bindir", true,
     [](NvccOptions& o, const std::string&, const std::string& v) -> base::Result<void> {
       o.host_compiler = v;
       return {};
     }},
    {"Werror", true, &nothing},
    {"extended-lambda expt-extended-lambda", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.extended_lambda = true;
       return {};
     }},
    {"expt-relaxed-constexpr", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.relaxed_constexpr = true;
       return {};
     }},
    {"use_fast_math", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.fast_math = o.flush_denormals = true;
       return {};
     }},
    {"g debug pg profile", false,
     [](NvccOptions& o, const std::string& n, const std::string&) -> base::Result<void> {
       o.host.emplace_back(n == "pg" || n == "profile" ? "-pg" : "-g");
       return {};
     }},
    {"G device-debug", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.debug = true;
       return {};
     }},
    {"w disable-warnings", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.no_warnings = true;
       return {};
     }},
    {"v verbose", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.verbose = true;
       return {};
     }},
    {"dryrun", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.verbose = o.dry_run = true;
       return {};
     }},
    {"keep save-temps", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.keep = true;
       return {};
     }},
    {"check-kernels", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.check = true;
       return {};
     }},
    {"h help", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.help = true;
       return {};
     }},
    {"V version", false,
     [](NvccOptions& o, const std::string&, const std::string&) -> base::Result<void> {
       o.version = true;
       return {};
     }},
    {"lineinfo generate-line-info res-usage resource-usage Wno-deprecated-gpu-targets Wreorder "
     "Wdefault-stream-launch Wmissing-launch-bounds Wext-lambda-captures-this "
     "Wno-deprecated-declarations Wdeprecated-declarations restrict extra-device-vectorization "
     "dlto lto gen-opt-lto clean clean-targets "
     "forward-unknown-to-host-compiler forward-unknown-to-host-linker forward-unknown-opts "
     "allow-unsupported-compiler noprof nodlink display-error-number no-display-error-number "
     "no-host-device-initializer-list no-host-device-move-forward no-align-double src-in-ptx "
     "no-compress forward-slash-prefix-opts m64 ewp no-exceptions noeh no-caller-infer "
     "host-relocatable-link use-local-env prototype-section objdir-as-tempdir no-cubin-func",
     false, &nothing}};

bool has_name(const Flag& flag, std::string_view name) {
  for (std::size_t at = 0; at < flag.names.size();) {
    const std::size_t end = std::min(flag.names.find(' ', at), flag.names.size());
    if (flag.names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

const Flag* find_flag(std::string_view name) {
  for (const Flag& flag : kFlags)
    if (has_name(flag, name)) return &flag;
  return nullptr;
}

// -Idir, -DX=1, -lm, -O3, -t4, -Werror: a value that follows its letter. The longest name wins.
const Flag* find_joined(const std::string& word, std::string& name) {
  for (const std::string_view one :
       {"isystem", "std", "D", "U", "I", "L", "l", "O", "t", "o", "x", "m"}) {
    if (word.size() > one.size() && word.starts_with(one)) {
      name = one;
      return find_flag(one);
    }
  }
  return nullptr;
}

std::string nearest_flag(const std::string& name) {
  std::vector<std::string_view> all;
  for (const Flag& flag : kFlags) {
    for (std::size_t at = 0; at < flag.names.size();) {
      const std::size_t end = std::min(flag.names.find(' ', at), flag.names.size());
      all.push_back(flag.names.substr(at, end - at));
      at = end + 1;
    }
  }
  return base::did_you_mean(name, all);
}

// A response file is read as a shell reads a line, without expansions.
Words shell_words(const std::string& text) {
  Words words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else if (c == '\\' && quote == '"' && i + 1 < text.size())
        word += text[++i];
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

base::Result<Words> expand(const Words& words, int depth) {
  constexpr int kDeepest = 16;
  Words result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string file;
    if (words[i].starts_with('@') && words[i].size() > 1) {
      file = words[i].substr(1);
    } else if ((words[i] == "-optf" || words[i] == "--options-file") && i + 1 < words.size()) {
      file = words[++i];
    } else if (words[i].starts_with("--options-file=")) {
      file = words[i].substr(words[i].find('=') + 1);
    } else {
      result.push_back(words[i]);
      continue;
    }
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return base::fail(base::ErrorCode::kIo, "this response file cannot be read", file);
    if (depth == kDeepest)
      return base::fail(base::ErrorCode::kUsage, "response files name each other", file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    auto inner = expand(shell_words(text), depth + 1);
    if (!inner) return inner;
    result.insert(result.end(), inner->begin(), inner->end());
  }
  return result;
}

}  // namespace

base::Result<Words> with_response_files(const Words& words) {
  return expand(words, 0);
}

base::Result<NvccOptions> parse_nvcc(const Words& words) {
  NvccOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-') || word.size() < 2) {
      options.inputs.push_back(word);
      continue;
    }
    std::string name = word.substr(word.starts_with("--") ? 2 : 1);
    std::string value;
    bool has_value = false;
    const Flag* flag = find_flag(name);
    if (flag == nullptr) {
      if (const std::size_t equals = name.find('='); equals != std::string::npos) {
        const std::string before = name.substr(0, equals);
        flag = find_flag(before);
        if (flag != nullptr) {
          value = name.substr(equals + 1);
          name = before;
          has_value = true;
        }
      }
    }
    if (flag == nullptr && !word.starts_with("--")) {
      std::string letter;
      flag = find_joined(name, letter);
      if (flag != nullptr) {
        value = name.substr(letter.size());
        if (value.starts_with('=') && letter != "D") value.erase(0, 1);
        name = letter;
        has_value = true;
      }
    }
    if (flag == nullptr) {
      // As nvcc has it: some flags of the host's compiler are its own, too.
      if (word == "-fPIC" || word == "-fpic" || word == "-pthread" || word == "-rdynamic") {
        options.host.push_back(word);
        continue;
      }
      return base::fail(base::ErrorCode::kUsage,
                        fmt::format("nvcc has no option {}{}", word, nearest_flag(name)));
    }
    if (flag->takes_value && !has_value) {
      if (i + 1 == words.size())
        return base::fail(base::ErrorCode::kUsage, fmt::format("{} needs a value", word));
      value = words[++i];
    }
    if (const auto done = flag->set(options, name, value); !done)
      return tl::make_unexpected(done.error());
  }
  return options;
}

}  // namespace torchport::cuda
