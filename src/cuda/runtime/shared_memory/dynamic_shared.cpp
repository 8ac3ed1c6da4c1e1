// The dynamic shared memory of the block that a thread of the host runs: as much as the largest
// device gives a block (227 KiB). NOLINTNEXTLINE(readability-identifier-naming)
extern "C" {
__attribute__((visibility("default"),
               aligned(1024))) __thread char torchport_cuda_dynamic_shared[232448] = {};
}
