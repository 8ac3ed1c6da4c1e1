#include "cuda/device/faults.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <ucontext.h>

#include "cuda/device/block.h"
#include "cuda/device/division.h"
#include "cuda/device/error_codes.h"
#include "cuda/device/instructions.h"
#include "cuda/device/watch.h"

namespace torchport::cuda {

namespace {

std::atomic<Describe> describe_address = nullptr;

constexpr std::array<int, 4> kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, 65> handlers_before;

// Code where a thread may hold a lock.
struct Part {
  std::uintptr_t begin;
  std::uintptr_t end;
};
std::vector<Part> libraries;

struct Threads {
  std::mutex mutex;
  std::vector<std::pair<Block*, pthread_t>> all;
};
Threads& threads() {
  static auto* const kThreads = new Threads();
  return *kThreads;
}

[[noreturn]] void land_after_fault() {
  Block::current()->faulted();
}
[[noreturn]] void land_abandoned() {
  Block::current()->abandoned();
}

std::uintptr_t program_counter(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return static_cast<std::uintptr_t>(context.uc_mcontext.pc);
#endif
}

// Lets the thread go on in a function, on the stack that it has, from its beginning.
void go_on_in(ucontext_t& context, char* stack, void (*function)()) {
  constexpr std::size_t kAlignment = 16;
  const auto top =
      (reinterpret_cast<std::uintptr_t>(stack) - 4 * kAlignment) / kAlignment * kAlignment;
#if defined(__x86_64__)
  constexpr greg_t kDirection = 0x400;
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - sizeof(void*));
  context.uc_mcontext.gregs[REG_RIP] =
      static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(function));
  context.uc_mcontext.gregs[REG_EFL] &= ~kDirection;
#else
  context.uc_mcontext.sp = top;
  context.uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(function);
#endif
}

bool was_write(const ucontext_t& context) {
#if defined(__x86_64__)
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return false;
#endif
}

// The processor says no address where a vector is not aligned, and where an address is none at all.
void refused_without_address(const ucontext_t& context, Fault& fault) {
  fault.access = Fault::kUses;
#if defined(__x86_64__)
  std::uint64_t address = 0;
  if (!vector_operand(context.uc_mcontext.gregs, address)) return;
  constexpr std::uint64_t kVector = 16;
  constexpr unsigned kBitsOfAddresses = 47;
  fault.address = reinterpret_cast<const void*>(address);
  if (address >> kBitsOfAddresses == 0 && address % kVector != 0) fault.error = kMisaligned;
#else
  (void)context;
#endif
}

void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& old = handlers_before[static_cast<std::size_t>(signal)];
  if ((old.sa_flags & SA_SIGINFO) != 0) {
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler == SIG_DFL) {
    sigaction(signal, &old, nullptr);  // the instruction is run again, and ends the process
  } else if (old.sa_handler != SIG_IGN) {
    old.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  Block* block = Block::current();
  const bool own = block != nullptr && block->runs_kernel() && info->si_code > 0;
  if (!own) return chain(signal, info, data);
  if (signal == SIGFPE && finish_division(context)) return;
  block->fault.address = info->si_addr;
  block->fault.access = was_write(context) ? Fault::kWrites : Fault::kReads;
  block->fault.error = signal == SIGILL   ? kIllegalInstruction
                       : signal == SIGFPE ? kLaunchFailure
                                          : kIllegalAddress;
  if (signal == SIGSEGV && info->si_code == SI_KERNEL)
    refused_without_address(context, block->fault);
  go_on_in(context, block->landing_stack(), &land_after_fault);
}

void on_leave(int /*signal*/, siginfo_t* /*info*/, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel() || !block->launch().failed) return;
  const std::uintptr_t at = program_counter(context);
  for (const Part& one : libraries)
    if (at >= one.begin && at < one.end) return;
  go_on_in(context, block->landing_stack(), &land_abandoned);
}

int add_library(dl_phdr_info* info, std::size_t /*size*/, void* /*data*/) {
  const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  static constexpr std::array<std::string_view, 5> kNames{"libc.so", "libstdc++", "ld-linux",
                                                          "libtorchport_cuda", "libpthread"};
  if (std::none_of(kNames.begin(), kNames.end(),
                   [&](std::string_view one) { return name.find(one) != std::string_view::npos; }))
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      libraries.push_back(
          {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz});
  }
  return 0;
}

void install() {
  dl_iterate_phdr(&add_library, nullptr);
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  action.sa_sigaction = &on_fault;
  for (const int signal : kSignals)
    sigaction(signal, &action, &handlers_before[static_cast<std::size_t>(signal)]);
  action.sa_sigaction = &on_leave;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(leave_signal(), &action, nullptr);
}

// A stack for handlers: that of a thread of a kernel may be full.
void give_signal_stack() {
  stack_t now{};
  if (sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0) return;
  constexpr std::size_t kBytes = std::size_t{64} << 10U;
  thread_local std::unique_ptr<char[]> memory;
  memory.reset(new char[kBytes]);
  stack_t own{};
  own.ss_sp = memory.get();
  own.ss_size = kBytes;
  sigaltstack(&own, nullptr);
}

void take_signal_stack_back() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace

int leave_signal() {
  return SIGRTMIN + 9;
}

void take_signals_of_kernels() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  sigaddset(&set, leave_signal());
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void describe_addresses_by(Describe function) {
  describe_address = function;
}

std::string describe(const Fault& fault) {
  if (fault.error == kIllegalInstruction) return "an instruction that the host does not have";
  if (fault.error == kLaunchFailure) return "an arithmetic error";
  if (fault.error == kMisaligned)
    return fmt::format("uses a vector at address {}, which is not aligned",
                       fmt::ptr(fault.address));
  if (fault.access == Fault::kUses && fault.address == nullptr)
    return "uses an address that is none: it has bits above those of any memory";
  const Describe function = describe_address;
  std::string known = function == nullptr ? std::string() : function(fault.address);
  if (!known.empty()) known.insert(0, ": ");
  static constexpr std::array<const char*, 3> kAccesses{"reads from", "writes to", "uses"};
  return fmt::format("{} address {}, where no memory is{}", kAccesses[fault.access],
                     fmt::ptr(fault.address), known);
}

void watch_thread(Block* block) {
  static std::once_flag installed;
  std::call_once(installed, &install);
  give_signal_stack();
  const std::scoped_lock lock(threads().mutex);
  threads().all.emplace_back(block, pthread_self());
}

void forget_thread(Block* block) {
  {
    const std::scoped_lock lock(threads().mutex);
    std::erase_if(threads().all, [&](const auto& one) { return one.first == block; });
  }
  take_signal_stack_back();
}

void signal_threads_of(const Launch& launch, int signal) {
  const std::scoped_lock lock(threads().mutex);
  for (const auto& [block, thread] : threads().all)
    if (block->runs(launch)) pthread_kill(thread, signal);
}

}  // namespace torchport::cuda
