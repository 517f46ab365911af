#include "harness/model/flow/kernel_launch.h"

#include <algorithm>

namespace sparkbench {
namespace {

// As the code of ptxas 11.8 and 12.9 for sm_70 reads them.
constexpr std::uint32_t kBlockExtentsAt = 0x0;
constexpr std::uint32_t kGridExtentsAt = 0xc;
constexpr std::uint32_t kExtentsEnd = 0x18;
constexpr std::uint32_t kLocalTopAt = 0x28;
constexpr std::uint32_t kLocalTopEnd = 0x2c;
constexpr std::uint32_t kParametersAt = 0x160;

/// Any that leaves room below: local addresses are told apart, and lead nowhere else.
constexpr std::uint32_t kLocalTop = 0xfffc00;

/// At most 4 bytes.
std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  }
  return value;
}

}  // namespace

ConstantBank::ConstantBank(const Extents& grid, const Extents& block,
                           std::span<const std::byte> parameters)
    : bytes_(kParametersAt + parameters.size()) {
  store(kBlockExtentsAt, std::as_bytes(std::span(block)));
  store(kGridExtentsAt, std::as_bytes(std::span(grid)));
  store(kLocalTopAt, std::as_bytes(std::span(&kLocalTop, 1)));
  store(kParametersAt, parameters);
}

void ConstantBank::store(std::uint32_t offset, std::span<const std::byte> bytes) {
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + offset);
}

bool ConstantBank::knows(std::uint32_t begin, std::uint32_t end) const {
  return end <= kExtentsEnd || (begin >= kLocalTopAt && end <= kLocalTopEnd) ||
         (begin >= kParametersAt && end <= bytes_.size());
}

std::optional<std::uint32_t> ConstantBank::load(std::uint32_t offset, std::uint32_t bytes) const {
  if (offset >= bytes_.size() || !knows(offset, offset + bytes)) return std::nullopt;
  return little_endian(std::span(bytes_).subspan(offset, bytes));
}

std::optional<std::uint32_t> KnownMemory::load(std::uint64_t address) const {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  if (address < begin || bytes.size() < kWord || address - begin > bytes.size() - kWord) {
    return std::nullopt;
  }
  return little_endian(std::span(bytes).subspan(address - begin, kWord));
}

}  // namespace sparkbench
