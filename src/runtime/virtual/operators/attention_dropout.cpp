#include "runtime/virtual/operators/attention_dropout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/random_conversions.h"

namespace torchport::vdev {

namespace {

constexpr std::int64_t kNumbersOfCurandDraw = 4;
constexpr std::int64_t kMaskElementsOfShare = 16384;

// Calls use(element, number) for `count` numbers of subsequence 0, the first of which is number
// `first` of the sequence.
template <class Use>
void each_cuda_number(const device::PhiloxPlace& place, std::uint64_t first, std::int64_t count,
                      const Use& use) {
  device::PhiloxBlock drawn{};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t number = first + static_cast<std::uint64_t>(i);
    if (i == 0 || number % kNumbersOfCurandDraw == 0)
      drawn = place.draw(0, number / kNumbersOfCurandDraw);
    use(i, uniform_float(drawn[number % kNumbersOfCurandDraw]));
  }
}

// Offsets from saved states may be any number, and those of a place are multiples of 4.
struct NumberStart {
  device::PhiloxPlace place;
  std::uint64_t number;  // from the place on
};

NumberStart number_start(const device::PhiloxPlace& place) {
  const std::uint64_t rest = place.offset % kNumbersOfCurandDraw;
  return {{place.seed, place.offset - rest}, rest};
}

// FlashAttention's blocks: one warp of 32 threads draws 16 bytes each for 16 queries and 32 keys,
// in the layout in which the tensor cores leave a product (m16n8k16).
constexpr std::int64_t kFlashQueries = 16;
constexpr std::int64_t kFlashKeys = 32;
constexpr std::int64_t kFlashThreadsOfWarp = 32;

using FlashBytes = std::array<std::array<std::uint8_t, kFlashKeys>, kFlashQueries>;

FlashBytes flash_bytes(const device::PhiloxPlace& place, std::uint64_t warp, std::uint32_t row,
                       std::uint32_t column) {
  constexpr std::uint32_t kBitsOfWord = 32;
  constexpr std::uint32_t kBitsOfByte = 8;
  constexpr std::int64_t kKeysOfTile = 8;
  constexpr std::int64_t kThreadsOfRow = 4;
  FlashBytes bytes{};
  for (std::int64_t thread = 0; thread < kFlashThreadsOfWarp; ++thread) {
    const std::uint64_t offset =
        place.offset + warp * kFlashThreadsOfWarp + static_cast<std::uint64_t>(thread);
    const device::PhiloxBlock drawn =
        device::philox4x32_7({static_cast<std::uint32_t>(offset),
                              static_cast<std::uint32_t>(offset >> kBitsOfWord), row, column},
                             {static_cast<std::uint32_t>(place.seed),
                              static_cast<std::uint32_t>(place.seed >> kBitsOfWord)});
    for (std::int64_t i = 0; i < kFlashQueries; ++i) {
      const std::int64_t tile = i / 4;
      const std::int64_t element = i % 4;
      const std::int64_t query = thread / kThreadsOfRow + element / 2 * kKeysOfTile;
      const std::int64_t key = tile * kKeysOfTile + thread % kThreadsOfRow * 2 + element % 2;
      const std::uint32_t word = drawn[static_cast<std::size_t>(i / 4)];
      bytes[static_cast<std::size_t>(query)][static_cast<std::size_t>(key)] =
          static_cast<std::uint8_t>(word >> (kBitsOfByte * static_cast<std::uint32_t>(i % 4)));
    }
  }
  return bytes;
}

}  // namespace

void AttentionDropout::draw(std::int64_t batch, std::int64_t head, at::Tensor& kept) const {
  if (kept.numel() == 0) return;
  const auto matrix = static_cast<std::uint64_t>(batch * heads_ + head);
  if (kernel_ == Kernel::kFlash)
    draw_flash(matrix, kept);
  else
    draw_efficient(matrix, kept);
}

void AttentionDropout::draw_flash(std::uint64_t matrix, at::Tensor& kept) const {
  constexpr float kLargest = 255.0F;
  const float keep = 1.0F - static_cast<float>(probability_);
  const auto limit = static_cast<std::uint8_t>(std::floor(keep * kLargest));
  const std::int64_t queries = kept.size(0);
  const std::int64_t keys = kept.size(1);
  auto* const to = kept.mutable_data_ptr<float>();
  const std::int64_t rows = (queries - 1) / kFlashQueries + 1;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kMaskElementsOfShare / (keys * kFlashQueries));
  at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t column = 0; column * kFlashKeys < keys; ++column) {
        const FlashBytes bytes = flash_bytes(place_, matrix, static_cast<std::uint32_t>(row),
                                             static_cast<std::uint32_t>(column));
        const std::int64_t query = row * kFlashQueries;
        const std::int64_t key = column * kFlashKeys;
        for (std::int64_t i = 0; i < std::min(kFlashQueries, queries - query); ++i) {
          const auto& of_query = bytes[static_cast<std::size_t>(i)];
          float* const first = to + (query + i) * keys + key;
          for (std::int64_t j = 0; j < std::min(kFlashKeys, keys - key); ++j)
            first[j] = of_query[static_cast<std::size_t>(j)] <= limit ? 1.0F : 0.0F;
        }
      }
    }
  });
}

void AttentionDropout::draw_efficient(std::uint64_t matrix, at::Tensor& kept) const {
  const auto limit = static_cast<float>(probability_);
  auto* const to = kept.mutable_data_ptr<float>();
  const std::int64_t of_matrix = elements_of_matrix_ < 0 ? kept.numel() : elements_of_matrix_;
  const NumberStart start = number_start(place_);
  const std::uint64_t first = start.number + matrix * static_cast<std::uint64_t>(of_matrix);
  at::parallel_for(
      0, kept.numel(), kMaskElementsOfShare, [&](std::int64_t begin, std::int64_t end) {
        each_cuda_number(
            start.place, first + static_cast<std::uint64_t>(begin), end - begin,
            [&](std::int64_t i, float number) { to[begin + i] = number > limit ? 1.0F : 0.0F; });
      });
}

device::PhiloxPlace reserve_for_mask(const at::Tensor& query, std::uint64_t numbers) {
  const std::optional<at::Generator> generator = generator_for(query, std::nullopt);
  if (draws_as_device()) return at::check_generator<PhiloxGenerator>(generator)->reserve(numbers);
  const at::Generator host = host_generator(*generator, numbers);
  auto* const cpu = at::check_generator<at::CPUGeneratorImpl>(host);
  const std::scoped_lock lock(cpu->mutex_);
  return {cpu->random64(), 0};
}

void fill_uniform(const device::PhiloxPlace& place, at::Tensor& uniform) {
  auto* const to = uniform.mutable_data_ptr<float>();
  const NumberStart start = number_start(place);
  at::parallel_for(
      0, uniform.numel(), kMaskElementsOfShare, [&](std::int64_t begin, std::int64_t end) {
        each_cuda_number(start.place, start.number + static_cast<std::uint64_t>(begin), end - begin,
                         [&](std::int64_t i, float number) { to[begin + i] = number; });
      });
}

}  // namespace torchport::vdev
