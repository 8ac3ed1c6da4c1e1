// ONNX Runtime's C library, found and loaded while the program runs: it comes with a Python wheel,
// which has the library and no header.
//
// Its C API is a table of functions whose order never changes: later versions only append (the
// rules are in onnxruntime_c_api.cc). So a function is known by its number in the table and its
// signature, and those that are needed here, all of versions 1 and 2, are what this header says.
// Where the header happens to be installed, onnx_runtime.cpp has the compiler compare the numbers
// with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace torchport::deploy::ort {

// Opaque to us as to every user of the C API.
struct Env;
struct Status;
struct MemoryInfo;
struct Model;  // OrtSession
struct Value;
struct RunOptions;
struct ShapeInfo;  // OrtTensorTypeAndShapeInfo
struct SessionOptions;
struct Allocator;

// ONNXTensorElementDataType.
enum class Element : int {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
};

// A function of the table: its number, and as what it is called.
template <std::size_t Number, class Signature>
struct Function {
  static constexpr std::size_t kNumber = Number;
  using Pointer = Signature*;
};

using GetErrorMessage = Function<2, const char*(const Status*)>;
using CreateEnv = Function<3, Status*(int, const char*, Env**)>;
using CreateSession = Function<7, Status*(const Env*, const char*, const SessionOptions*, Model**)>;
using Run = Function<9, Status*(Model*, const RunOptions*, const char* const*, const Value* const*,
                                std::size_t, const char* const*, std::size_t, Value**)>;
using CreateSessionOptions = Function<10, Status*(SessionOptions**)>;
using SetSessionLogSeverityLevel = Function<22, Status*(SessionOptions*, int)>;
using SetIntraOpNumThreads = Function<24, Status*(SessionOptions*, int)>;
using SessionGetInputCount = Function<30, Status*(const Model*, std::size_t*)>;
using SessionGetInputName = Function<36, Status*(const Model*, std::size_t, Allocator*, char**)>;
using CreateTensorWithData =
    Function<49, Status*(const MemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t,
                         Element, Value**)>;
using GetTensorMutableData = Function<51, Status*(Value*, void**)>;
using GetTensorElementType = Function<60, Status*(const ShapeInfo*, Element*)>;
using GetDimensionsCount = Function<61, Status*(const ShapeInfo*, std::size_t*)>;
using GetDimensions = Function<62, Status*(const ShapeInfo*, std::int64_t*, std::size_t)>;
using GetTensorTypeAndShape = Function<65, Status*(const Value*, ShapeInfo**)>;
using CreateCpuMemoryInfo = Function<69, Status*(int, int, MemoryInfo**)>;
using AllocatorFree = Function<76, Status*(Allocator*, void*)>;
using GetAllocatorWithDefaultOptions = Function<78, Status*(Allocator**)>;
using ReleaseEnv = Function<92, void(Env*)>;
using ReleaseStatus = Function<93, void(Status*)>;
using ReleaseMemoryInfo = Function<94, void(MemoryInfo*)>;
using ReleaseSession = Function<95, void(Model*)>;
using ReleaseValue = Function<96, void(Value*)>;
using ReleaseTensorTypeAndShapeInfo = Function<99, void(ShapeInfo*)>;
using ReleaseSessionOptions = Function<100, void(SessionOptions*)>;

// The library, for as long as the process lives: it has threads, and cannot be unloaded.
class Library {
 public:
  // Loads libonnxruntime.so at `path`, or where SessionOptions::onnx_runtime says it is looked for.
  // Throws std::runtime_error with the places that were tried.
  [[nodiscard]] static std::shared_ptr<const Library> load(const std::string& path);

  template <class F, class... Arguments>
  auto call(Arguments... arguments) const {
    return reinterpret_cast<typename F::Pointer>(table_[F::kNumber])(arguments...);
  }

  // For functions that may fail: throws std::runtime_error with the library's message.
  template <class F, class... Arguments>
  void require(Arguments... arguments) const {
    if (Status* status = call<F>(arguments...); status != nullptr) fail(status);
  }

  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  [[noreturn]] void fail(Status* status) const;

  void* const* table_ = nullptr;
  std::string version_;
};

// Releases what the library made.
template <class F>
struct Release {
  const Library* library = nullptr;
  template <class T>
  void operator()(T* made) const {
    library->call<F>(made);
  }
};

template <class T, class F>
using Handle = std::unique_ptr<T, Release<F>>;

// What function F makes, which has the place for it as last parameter.
template <class F, class T, class R, class... Arguments>
[[nodiscard]] Handle<T, R> make(const Library& library, Arguments... arguments) {
  T* made = nullptr;
  library.require<F>(arguments..., &made);
  return Handle<T, R>(made, Release<R>{&library});
}

}  // namespace torchport::deploy::ort
