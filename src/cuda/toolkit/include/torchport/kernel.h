// How a kernel's code meets the threads that run it. `torchport nvcc` writes calls of these names;
// programs do not.
//
// A kernel's function runs its body, a lambda, for each thread of each block of the grid that
// `configure` left for it. The threads of a block are turns of a loop. The first time that one
// waits for another, it keeps the stack that it is on, and a new stack goes on with the loop behind
// it; so kernels that do not wait are plain loops, which a compiler may vectorize.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "vector_types.h"

struct CUstream_st;

// An object that another build of torchport made of the same text is another one: ccache compares
// what the preprocessor writes.
#ifdef __TORCHPORT_NVCC__
static_assert(__TORCHPORT_NVCC__ != 0, "the build of torchport nvcc");
#endif

// Modules of PyTorch need a library whose name says where they run, before any other.
#ifdef TORCH_EXTENSION_NAME
extern "C" const char torchport_run_is_needed;
__attribute__((used)) static const char* const torchport_module_needs = &torchport_run_is_needed;
#endif

#define TORCHPORT_CUDA_API __attribute__((visibility("default")))

namespace torchport::cuda {

struct Exchange;
struct Site;
struct Turns;
struct WarpTurns;

// A walk over the threads of one block, from one thread on; or one thread, once it has waited.
struct Walk {
  unsigned x, y, z;  // the thread that runs
  unsigned end;      // where rows end; 0 once the walk is the stack of one thread
  ::uint3 block;
  ::dim3 block_size;
  ::dim3 grid_size;
  // The rest is there for one thread; see torchport/turns.h.
  bool quick;       // whether it may hand its turn to another one by itself
  unsigned thread;  // its number
  void* context;    // where its stack goes on
  Walk* next;       // in a queue
  Turns* turns;
  WarpTurns* warp;
  Exchange* held;    // the values that it may read
  const Site* site;  // where it waits
};

// What __launch_bounds__ and __cluster_dims__ say of a kernel; 0: nothing.
struct Bounds {
  unsigned threads = 0;
  unsigned blocks = 0;
  ::dim3 cluster{0, 0, 0};
};

struct Kernel {
  const char* name;
  // Runs threads from walk.x, walk.y, walk.z on. This function is also the identity of a kernel.
  void (*threads)(const void* body, Walk& walk);
  // The body holds the kernel's arguments. A graph keeps a copy of it, made in `size` bytes.
  std::size_t size;
  void (*copy)(void* to, const void* body);
  void (*destroy)(void* body);
  const std::size_t* shared;  // bytes of its __shared__ variables
  Bounds bounds;
  bool flushes_denormals = false;  // -ftz=true
  bool checked = false;            // its accesses are told to the checker of kernels
  unsigned architecture = 0;       // that it was compiled for, as __CUDA_ARCH__
  bool in_phases = false;          // `threads` runs a whole block, and no thread of it waits
};

// The walk of the thread that runs here; none on the host.
extern "C" TORCHPORT_CUDA_API __thread Walk* torchport_cuda_walk
    __attribute__((tls_model("initial-exec")));

// The dynamic shared memory of the block that this thread of the host runs.
extern "C" TORCHPORT_CUDA_API __thread char torchport_cuda_dynamic_shared[232448]
    __attribute__((aligned(1024)));

// Leaves the sizes of the next kernel that this thread of the host calls. False, and the last error
// is set, if no device has such a grid.
TORCHPORT_CUDA_API bool configure(::dim3 grid, ::dim3 block, std::size_t shared = 0,
                                  CUstream_st* stream = nullptr);
// Runs all blocks, or says which kernel it is (see identity_of), or does nothing if there is an
// error.
TORCHPORT_CUDA_API void run_grid(const Kernel& kernel, const void* body) __asm__(
    "torchport_cuda_run_grid_3");  // a new number where what a kernel passes changes
// The addresses of the arguments, if the kernel was called without them (cudaLaunchKernel).
TORCHPORT_CUDA_API void** waiting_arguments();

// The loop over threads keeps its place in memory that it takes for its own (run_row); so the
// compiler has to be told that it is read here.
inline ::uint3 thread_index() {
  __asm__ volatile("" : : : "memory");
  const Walk& walk = *torchport_cuda_walk;
  return {walk.x, walk.y, walk.z};
}
inline ::uint3 block_index() {
  return torchport_cuda_walk->block;
}
inline ::dim3 block_size() {
  return torchport_cuda_walk->block_size;
}
inline ::dim3 grid_size() {
  return torchport_cuda_walk->grid_size;
}

struct Unnamed {};

template <class T>
void load_argument(void* value, T& parameter) {
  void* to = const_cast<void*>(static_cast<const volatile void*>(&parameter));
  __asm__("" : "+r"(to) : : "memory");  // the parameter may be const
  std::memcpy(to, value, sizeof(T));
  __asm__("" : : : "memory");
}
inline void load_argument(void* /*value*/, Unnamed /*parameter*/) {}

// Arguments that lie in one buffer, each where its alignment puts it (cuLaunchKernel's `extra`):
// the first value is this number's address, the second the buffer's.
extern "C" TORCHPORT_CUDA_API const char torchport_cuda_packed;
struct PackedArguments {
  std::size_t at = 0;
  template <class T>
  void* next(char* buffer) {
    at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
    void* found = buffer + at;
    at += sizeof(T);
    return found;
  }
};

template <class... T>
void load_arguments(void** values, T&&... parameters) {
  if (sizeof...(T) > 0 && *values == &torchport_cuda_packed) {
    auto* buffer = static_cast<char*>(values[1]);
    PackedArguments packed;
    (load_argument(packed.next<std::remove_reference_t<T>>(buffer), parameters), ...);
    return;
  }
  (load_argument(*values++, parameters), ...);
}

// Device code rounds products and sums once (-fmad=true); `torchport nvcc` says so.
#ifdef __TORCHPORT_CONTRACT__
#define TORCHPORT_DEVICE_CODE __attribute__((optimize("fp-contract=fast")))
#else
#define TORCHPORT_DEVICE_CODE
#endif

// A number that is known to be small. The compiler sees that blockIdx.x * blockDim.x + threadIdx.x
// does not wrap then, and may vectorize.
inline unsigned small(unsigned value, unsigned most) {
  __asm__("" : "+r"(value));
  return value & most;
}
constexpr unsigned kFewBlocks = (1U << 19U) - 1;
constexpr unsigned kFewThreads = (1U << 11U) - 1;

#ifdef __TORCHPORT_CHECK__
#define TORCHPORT_OWN
// What such a function does counts for the line of its caller.
#define TORCHPORT_OF_CALLER inline __attribute__((always_inline))
#else
#define TORCHPORT_OF_CALLER inline
#define TORCHPORT_OWN __restrict__
#endif

// The threads of one row from walk->x on. `MostBlock` bounds the number of the block. No store of
// the body reaches *walk, which __restrict__ says; what the body calls may change it, which GCC
// takes into account. Hot, because GCC makes code small that a program's main seems to run once.
template <unsigned MostBlock, class Body>
__attribute__((hot, noinline)) TORCHPORT_DEVICE_CODE void run_row(const Body body,
                                                                  Walk* TORCHPORT_OWN walk) {
  const ::uint3 block{small(walk->block.x, MostBlock), walk->block.y, walk->block.z};
  const ::dim3 block_size(small(walk->block_size.x, kFewThreads), walk->block_size.y,
                          walk->block_size.z);
  const ::dim3 grid_size = walk->grid_size;
  const unsigned y = walk->y;
  const unsigned z = walk->z;
  for (unsigned x = small(walk->x, kFewThreads); x < (walk->end & kFewThreads); ++x) {
    walk->x = x;
    Body one = body;  // parameters belong to a thread
    one(::uint3{x, y, z}, block, block_size, grid_size);
  }
}

template <class Body>
void run_threads(const void* closure, Walk& walk) {
  // Nothing has the address of this copy, so no store of the body can change it.
  const Body body = *static_cast<const Body*>(closure);
  while (true) {
    if (walk.block.x <= kFewBlocks)
      run_row<kFewBlocks>(body, &walk);
    else
      run_row<~0U>(body, &walk);
    if (walk.end == 0) return;
    walk.x = 0;
    if (++walk.y < walk.block_size.y) continue;
    walk.y = 0;
    if (++walk.z >= walk.block_size.z) return;
  }
}

// The bytes of the __shared__ variables of a kernel, which has a type of its own. Each variable
// adds itself when the program is loaded.
template <class Tag>
struct SharedBytes {
  static std::size_t value;
};
template <class Tag>
std::size_t SharedBytes<Tag>::value = 0;
template <class Tag, int Number, std::size_t Bytes>
struct SharedVariable {
  static const bool counted;
};
template <class Tag, int Number, std::size_t Bytes>
const bool SharedVariable<Tag, Number, Bytes>::counted = ((SharedBytes<Tag>::value += Bytes), true);

inline Bounds launch_bounds(unsigned threads, unsigned blocks = 0, unsigned /*cluster*/ = 0) {
  return {threads, blocks, {0, 0, 0}};
}
inline ::dim3 cluster_dims(unsigned x, unsigned y = 1, unsigned z = 1) {
  return {x, y, z};
}

template <class Body>
void copy_body(void* to, const void* body) {
  new (to) Body(*static_cast<const Body*>(body));
}
template <class Body>
void destroy_body(void* body) {
  static_cast<Body*>(body)->~Body();
}

template <class Tag, class Body>
void start_kernel(const char* name, void (*threads)(const void*, Walk&), const Body& body,
                  Bounds bounds, ::dim3 cluster, bool in_phases) {
  bounds.cluster = cluster;
#ifdef __TORCHPORT_FTZ__
  constexpr bool kFlushes = true;
#else
  constexpr bool kFlushes = false;
#endif
#ifdef __CUDA_ARCH__
  constexpr unsigned kArchitecture = __CUDA_ARCH__;
#else
  constexpr unsigned kArchitecture = 0;
#endif
#ifdef __TORCHPORT_CHECK__
  constexpr bool kChecked = true;
#else
  constexpr bool kChecked = false;
#endif
  run_grid({name, threads, sizeof(Body), &copy_body<Body>, &destroy_body<Body>,
            &SharedBytes<Tag>::value, bounds, kFlushes, kChecked, kArchitecture, in_phases},
           &body);
}

template <class Tag, class Body>
void run_kernel(const char* name, const Body& body, Bounds bounds = {},
                ::dim3 cluster = {0, 0, 0}) {
  start_kernel<Tag>(name, &run_threads<Body>, body, bounds, cluster, false);
}

// A variable of each thread, of a type that a template has; none is constructed.
template <class T, std::size_t Count, bool IsPlain = std::is_arithmetic<T>::value>
struct Kept {
  T values[Count];
  T& operator[](std::size_t i) { return values[i]; }
};
template <class T, std::size_t Count>
struct Kept<T, Count, false> {
  // Large ones would fill the stack. A kernel that fails leaves them.
  static constexpr bool kIsLarge = sizeof(T) > 16;
  alignas(T) unsigned char bytes[kIsLarge ? sizeof(T) : Count * sizeof(T)];
  void* far = kIsLarge ? __builtin_malloc(Count * sizeof(T) + alignof(T)) : nullptr;
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { __builtin_free(far); }
  T& operator[](std::size_t i) {
    if (!kIsLarge) return reinterpret_cast<T*>(bytes)[i];
    const auto at = reinterpret_cast<std::size_t>(far);
    return reinterpret_cast<T*>((at + alignof(T) - 1) / alignof(T) * alignof(T))[i];
  }
};
template <class T, std::size_t Count>
using KeptOf = Kept<typename std::remove_const<T>::type, Count>;

// A kernel whose threads only meet at barriers that stand between loops over all of them: its body
// runs once for a block. See cuda/source/phases.h.
template <unsigned MostBlock, class Body>
__attribute__((hot, noinline)) TORCHPORT_DEVICE_CODE void run_phases_of(const Body body,
                                                                        Walk* TORCHPORT_OWN walk) {
  const ::uint3 block{small(walk->block.x, MostBlock), walk->block.y, walk->block.z};
  const ::dim3 block_size(small(walk->block_size.x, kFewThreads), walk->block_size.y,
                          walk->block_size.z);
  body(block, block_size, walk->grid_size, walk);
}

template <class Body>
void run_phases(const void* closure, Walk& walk) {
  const Body body = *static_cast<const Body*>(closure);
  if (walk.block.x <= kFewBlocks)
    run_phases_of<kFewBlocks>(body, &walk);
  else
    run_phases_of<~0U>(body, &walk);
}

template <class Tag, class Body>
void run_kernel_in_phases(const char* name, const Body& body, Bounds bounds = {},
                          ::dim3 cluster = {0, 0, 0}) {
  start_kernel<Tag>(name, &run_phases<Body>, body, bounds, cluster, true);
}

// For kernels that were built for checks (-D__TORCHPORT_CHECK__): a __shared__ variable that a
// thread of a block has declared. `name` is kept.
extern "C" TORCHPORT_CUDA_API void torchport_cuda_note_shared(const volatile void* address,
                                                              std::size_t bytes, const char* name,
                                                              std::size_t element);
template <class T>
void note_shared(const volatile T& variable, const char* name) {
  torchport_cuda_note_shared(&reinterpret_cast<const volatile char&>(variable), sizeof(T), name,
                             sizeof(std::remove_all_extents_t<T>));
}

// A __shared__ variable outside of functions, of which every block has its own: `where` gives the
// one of the block that this thread of the host runs. It is known as long as the object lives.
class TORCHPORT_CUDA_API FileShared {
 public:
  FileShared(const volatile void* (*where)(), std::size_t bytes, const char* name,
             std::size_t element);
  ~FileShared();
  FileShared(const FileShared&) = delete;
  FileShared& operator=(const FileShared&) = delete;

 private:
  const volatile void* (*where_)();
};

// The pointers among a kernel's arguments, for what is said of an access. Names are kept.
struct NotedArgument {
  const char* name;
  const volatile void* pointer;
  std::size_t element;  // bytes
};
extern "C" TORCHPORT_CUDA_API void torchport_cuda_note_arguments(const NotedArgument* first,
                                                                 std::size_t count);
// Bytes of what a pointer points to; 1 where that is not known.
template <class T, class = void>
struct ElementBytes {
  static constexpr std::size_t value = 1;
};
template <class T>
struct ElementBytes<T, std::enable_if_t<std::is_object<T>::value && (sizeof(T) > 0)>> {
  static constexpr std::size_t value = sizeof(T);
};
template <class T>
NotedArgument noted(const char* name, const T& /*value*/) {
  return {name, nullptr, 0};
}
template <class T>
NotedArgument noted(const char* name, T* const& value) {
  return {name, reinterpret_cast<const volatile void*>(value), ElementBytes<T>::value};
}
inline NotedArgument noted(const char* name, Unnamed /*parameter*/) {
  return {name, nullptr, 0};
}
template <class... T>
void note_arguments(T... arguments) {
  const NotedArgument all[] = {arguments..., NotedArgument{"", nullptr, 0}};
  torchport_cuda_note_arguments(all, sizeof...(T));
}

// new and delete in kernels that were built for checks: memory of the kernel's heap.
struct KernelHeap {};
extern "C" TORCHPORT_CUDA_API void* torchport_cuda_new(std::size_t bytes);
extern "C" TORCHPORT_CUDA_API void torchport_cuda_forget_new(const volatile void* data);
inline void forget_new(const volatile void* data) {
  torchport_cuda_forget_new(data);
}
// Copies in kernels that were built for checks; the checker is told of them before. `from` may be
// null: only `to` is written.
extern "C" TORCHPORT_CUDA_API void torchport_cuda_check_copy(const volatile void* to,
                                                             const volatile void* from,
                                                             std::size_t bytes);
// A copy that is asynchronous on a GPU, of this thread, to shared memory: nobody may use `to`
// before the thread has waited for it. Copies form groups, which end at a commit; waiting leaves
// the newest `left` groups, or nothing at all (kNoCopies).
extern "C" TORCHPORT_CUDA_API void torchport_cuda_check_async(const volatile void* to,
                                                              std::size_t bytes);
extern "C" TORCHPORT_CUDA_API void torchport_cuda_check_commit();
extern "C" TORCHPORT_CUDA_API void torchport_cuda_check_wait(unsigned left);
constexpr unsigned kNoCopies = ~0U;
inline __attribute__((always_inline)) void copies_later(const volatile void* to,
                                                        std::size_t bytes) {
#ifdef __TORCHPORT_CHECK__
  if (torchport_cuda_walk != nullptr) torchport_cuda_check_async(to, bytes);
#else
  (void)to, (void)bytes;
#endif
}
inline __attribute__((always_inline)) void commit_copies() {
#ifdef __TORCHPORT_CHECK__
  if (torchport_cuda_walk != nullptr) torchport_cuda_check_commit();
#endif
}
inline __attribute__((always_inline)) void wait_for_copies(unsigned left) {
#ifdef __TORCHPORT_CHECK__
  if (torchport_cuda_walk != nullptr) torchport_cuda_check_wait(left);
#else
  (void)left;
#endif
}
inline __attribute__((always_inline)) void* checked_memcpy(void* to, const void* from,
                                                           std::size_t bytes) {
  if (torchport_cuda_walk != nullptr) torchport_cuda_check_copy(to, from, bytes);
  return __builtin_memcpy(to, from, bytes);
}
inline __attribute__((always_inline)) void* checked_memmove(void* to, const void* from,
                                                            std::size_t bytes) {
  if (torchport_cuda_walk != nullptr) torchport_cuda_check_copy(to, from, bytes);
  return __builtin_memmove(to, from, bytes);
}
inline __attribute__((always_inline)) void* checked_memset(void* to, int value, std::size_t bytes) {
  if (torchport_cuda_walk != nullptr) torchport_cuda_check_copy(to, nullptr, bytes);
  return __builtin_memset(to, value, bytes);
}

// A variable of a device: its address and size, for the functions that take symbols. `constant`: it
// was declared with __constant__.
enum class Memory : unsigned char { kDevice, kConstant, kManaged };
TORCHPORT_CUDA_API bool add_variable(const volatile void* address, std::size_t bytes,
                                     const char* name, Memory memory);

}  // namespace torchport::cuda

#ifdef __TORCHPORT_CHECK__
inline void* operator new(std::size_t bytes, torchport::cuda::KernelHeap /*heap*/) {
  return torchport::cuda::torchport_cuda_new(bytes);
}
inline void* operator new[](std::size_t bytes, torchport::cuda::KernelHeap /*heap*/) {
  return torchport::cuda::torchport_cuda_new(bytes);
}
inline void operator delete(void* data, torchport::cuda::KernelHeap /*heap*/) {
  ::operator delete(data);
}
inline void operator delete[](void* data, torchport::cuda::KernelHeap /*heap*/) {
  ::operator delete[](data);
}
#endif
