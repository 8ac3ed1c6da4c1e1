// Maps names of dtypes, and lists the names that torch's safe unpickler accepts. The tables are
// those of torch 2.13.0: torch/storage.py (_dtype_to_storage_type_map, _new_dtypes) and
// torch/_weights_only_unpickler.py (_get_allowed_globals). A test compares them with torch.
#include <algorithm>
#include <array>

#include "runtime/checkpoint/contents.h"

namespace torchport::checkpoint {

namespace {

struct Dtype {
  std::string_view name;
  std::string_view storage;      // the word in torch.<storage>Storage
  std::string_view safetensors;  // the name in headers of safetensors
  unsigned bytes;
};

constexpr std::array kDtypes{Dtype{"float64", "Double", "F64", 8},
                             Dtype{"float32", "Float", "F32", 4},
                             Dtype{"float16", "Half", "F16", 2},
                             Dtype{"bfloat16", "BFloat16", "BF16", 2},
                             Dtype{"int64", "Long", "I64", 8},
                             Dtype{"int32", "Int", "I32", 4},
                             Dtype{"int16", "Short", "I16", 2},
                             Dtype{"int8", "Char", "I8", 1},
                             Dtype{"uint8", "Byte", "U8", 1},
                             Dtype{"bool", "Bool", "BOOL", 1},
                             Dtype{"complex128", "ComplexDouble", "", 16},
                             Dtype{"complex64", "ComplexFloat", "C64", 8},
                             Dtype{"quint8", "QUInt8", "", 1},
                             Dtype{"qint8", "QInt8", "", 1},
                             Dtype{"qint32", "QInt32", "", 4},
                             Dtype{"quint4x2", "QUInt4x2", "", 1},
                             Dtype{"quint2x4", "QUInt2x4", "", 1},
                             Dtype{"float8_e5m2", "", "F8_E5M2", 1},
                             Dtype{"float8_e4m3fn", "", "F8_E4M3", 1},
                             Dtype{"float8_e5m2fnuz", "", "", 1},
                             Dtype{"float8_e4m3fnuz", "", "", 1},
                             Dtype{"float8_e8m0fnu", "", "F8_E8M0", 1},
                             Dtype{"float4_e2m1fn_x2", "", "", 1},
                             Dtype{"complex32", "", "", 4},
                             Dtype{"uint16", "", "U16", 2},
                             Dtype{"uint32", "", "U32", 4},
                             Dtype{"uint64", "", "U64", 8},
                             Dtype{"int1", "", "", 1},
                             Dtype{"int2", "", "", 1},
                             Dtype{"int3", "", "", 1},
                             Dtype{"int4", "", "", 1},
                             Dtype{"int5", "", "", 1},
                             Dtype{"int6", "", "", 1},
                             Dtype{"int7", "", "", 1},
                             Dtype{"uint1", "", "", 1},
                             Dtype{"uint2", "", "", 1},
                             Dtype{"uint3", "", "", 1},
                             Dtype{"uint4", "", "", 1},
                             Dtype{"uint5", "", "", 1},
                             Dtype{"uint6", "", "", 1},
                             Dtype{"uint7", "", "", 1},
                             Dtype{"bits8", "", "", 1},
                             Dtype{"bits16", "", "", 2},
                             Dtype{"bits1x8", "", "", 1},
                             Dtype{"bits2x4", "", "", 1},
                             Dtype{"bits4x2", "", "", 1}};

constexpr std::array<std::string_view, 12> kAccepted{"collections.OrderedDict",
                                                     "collections.Counter",
                                                     "torch.nn.parameter.Parameter",
                                                     "torch.serialization._get_layout",
                                                     "torch.Size",
                                                     "torch.Tensor",
                                                     "torch.device",
                                                     "_codecs.encode",
                                                     "builtins.bytearray",
                                                     "builtins.set",
                                                     "builtins.complex",
                                                     "torch._tensor._rebuild_from_type_v2"};

constexpr std::array<std::string_view, 12> kRebuild{"_rebuild_parameter",
                                                    "_rebuild_parameter_with_state",
                                                    "_rebuild_qtensor",
                                                    "_rebuild_tensor",
                                                    "_rebuild_tensor_v2",
                                                    "_rebuild_tensor_v3",
                                                    "_rebuild_sparse_tensor",
                                                    "_rebuild_meta_tensor_no_storage",
                                                    "_rebuild_nested_tensor",
                                                    "_rebuild_wrapper_subclass",
                                                    "_rebuild_device_tensor_from_numpy",
                                                    "_rebuild_device_tensor_from_cpu_tensor"};

constexpr std::array<std::string_view, 5> kQuantizers{"per_tensor_affine", "per_tensor_symmetric",
                                                      "per_channel_affine", "per_channel_symmetric",
                                                      "per_channel_affine_float_qparams"};

// Modules all of whose functions reach the system, and functions that can run or reach anything.
constexpr std::array<std::string_view, 21> kDangerousModules{
    "os",     "posix",     "nt",   "subprocess",      "sys",
    "shutil", "socket",    "pty",  "runpy",           "commands",
    "popen2", "importlib", "imp",  "ctypes",          "webbrowser",
    "urllib", "requests",  "http", "multiprocessing", "pickle",
    "code"};
constexpr std::array<std::string_view, 12> kDangerousBuiltins{
    "eval",    "exec",    "execfile", "compile", "open",       "__import__",
    "getattr", "setattr", "delattr",  "globals", "breakpoint", "input"};
constexpr std::array<std::string_view, 5> kDangerousElsewhere{
    "operator.attrgetter", "operator.methodcaller", "functools.partial", "timeit.timeit",
    "cProfile.run"};

template <class Table>
bool holds(const Table& table, std::string_view name) {
  return !name.empty() && std::find(table.begin(), table.end(), name) != table.end();
}

// Whether this is a tensor class such as "torch.FloatTensor" or "torch.cuda.sparse.HalfTensor".
// There are none for complex and quantized numbers.
bool is_tensor_class(std::string_view global) {
  static constexpr std::array<std::string_view, 10> kClasses{
      "Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"};
  bool sparse = false;
  for (const std::string_view prefix : {"torch.", "cuda.", "sparse."}) {
    if (global.starts_with(prefix)) {
      global.remove_prefix(prefix.size());
      sparse = prefix == "sparse.";
    } else if (prefix == "torch.") {
      return false;
    }
  }
  if (!global.ends_with("Tensor")) return false;
  global.remove_suffix(6);
  return holds(kClasses, global) && !(sparse && global == "Bool");
}

const Dtype* find_dtype(std::string_view name) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const Dtype& dtype) { return dtype.name == name; });
  return found == kDtypes.end() ? nullptr : &*found;
}

}  // namespace

unsigned element_size(std::string_view dtype) {
  const Dtype* found = find_dtype(dtype);
  return found == nullptr ? 0 : found->bytes;
}

std::string dtype_named(std::string_view name) {
  for (const std::string_view prefix : {"torch.cuda.", "torch.storage.", "torch."}) {
    if (!name.starts_with(prefix)) continue;
    std::string_view rest = name.substr(prefix.size());
    if (find_dtype(rest) != nullptr) return std::string(rest);
    if (!rest.ends_with("Storage")) return {};
    rest.remove_suffix(7);
    if (rest == "Untyped" || rest == "Typed") return "uint8";
    for (const Dtype& dtype : kDtypes)
      if (!dtype.storage.empty() && dtype.storage == rest) return std::string(dtype.name);
    return {};
  }
  for (const Dtype& dtype : kDtypes)
    if (!dtype.safetensors.empty() && dtype.safetensors == name) return std::string(dtype.name);
  return {};
}

std::string safetensors_name(std::string_view dtype) {
  const Dtype* found = find_dtype(dtype);
  return found == nullptr ? std::string() : std::string(found->safetensors);
}

bool is_accepted(std::string_view global) {
  if (holds(kAccepted, global) || is_tensor_class(global)) return true;
  constexpr std::string_view kUtils = "torch._utils.";
  if (global.starts_with(kUtils)) return holds(kRebuild, global.substr(kUtils.size()));
  if (!global.starts_with("torch.")) return false;
  const std::string_view name = global.substr(global.rfind('.') + 1);
  const std::string_view module = global.substr(0, global.size() - name.size());
  const bool untyped = name == "UntypedStorage" || name == "TypedStorage";
  if (module == "torch.storage.") return untyped;
  const bool named = !dtype_named(global).empty() && !untyped;
  if (module == "torch.cuda.") return named && name.ends_with("Storage") && name.front() != 'Q';
  return module == "torch." && (named || holds(kQuantizers, name));
}

bool is_dangerous(std::string_view global) {
  const std::string_view package = global.substr(0, global.find('.'));
  if (package == "builtins" && global.size() > package.size())
    return holds(kDangerousBuiltins, global.substr(package.size() + 1));
  return holds(kDangerousModules, package) || holds(kDangerousElsewhere, global);
}

}  // namespace torchport::checkpoint
