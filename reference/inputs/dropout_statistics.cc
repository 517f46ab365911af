// Runs TestU01 (L'Ecuyer and Simard, "TestU01: A C Library for Empirical Testing of Random Number
// Generators", 2007) on the bytes of the dropout mask, four bytes per number:
//   dropout_statistics row|column|head|seed small|crush[:TEST] [SEED]
// TEST selects one test of the battery by number, 1 to 10 or 1 to 96, so that tests can run side by
// side on many cores. The first argument is the order, that is, what varies fastest: the columns of
// a row, the rows of a column, the heads, or the seeds of an element. A p-value outside [1e-4, 1 -
// 1e-4] is tested again with another seed and fails if it recurs: with so many tests, one is
// outside now and then.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

extern "C" {
#include <testu01/bbattery.h>
#include <testu01/swrite.h>
#include <testu01/unif01.h>
}

#include "kernels/problem/dropout.h"

namespace sparkbench {
namespace {

constexpr double kDoubtful = 1e-4;
constexpr std::uint32_t kSlabLength = 4096;  // length along the fastest index

enum class Order { kRow, kColumn, kHead, kSeed };

/// The bytes in an order, one slab at a time.
class ByteStream {
 public:
  ByteStream(Order order, std::uint64_t seed) : order_(order), seed_(seed) {}

  std::uint32_t next_number() {
    if (at_ == bytes_.size()) fill();
    std::uint32_t number;
    std::memcpy(&number, &bytes_[at_], sizeof number);
    at_ += sizeof number;
    return number;
  }

 private:
  using BlockBytes = std::array<std::uint8_t, 32>;

  /// For each byte of a plane: its 8 bits, each in the lowest bit of a byte.
  static constexpr std::array<std::uint64_t, 256> kSpread = [] {
    std::array<std::uint64_t, 256> spread{};
    for (std::uint64_t byte = 0; byte < 256; ++byte) {
      for (std::uint64_t bit = 0; bit < 8; ++bit) {
        spread[byte] |= (byte >> bit & 1u) << (8 * bit);
      }
    }
    return spread;
  }();

  static BlockBytes block_bytes(const Dropout& dropout, std::uint32_t head,
                                const DropoutBlock& block) {
    std::array<std::uint64_t, 4> words{};
    for (std::uint32_t half = 0; half < 2; ++half) {
      const PhiloxBlock planes = dropout_planes(dropout, dropout.offset, head, block, half);
      for (std::uint32_t k = 0; k < 4; ++k) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          words[i] |= kSpread[planes.word[k] >> (8 * i) & 255u] << (4 * half + k);
        }
      }
    }
    BlockBytes bytes;  // lowest byte of a word first
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }

  void fill() {
    at_ = 0;
    if (order_ == Order::kRow) {
      fill_rows();
    } else if (order_ == Order::kColumn) {
      fill_columns();
    } else {
      fill_elements();
    }
    ++slab_;
  }

  /// The rows of one block height, one after the other.
  void fill_rows() {
    bytes_.resize(std::size_t{16} * kSlabLength);
    for (std::uint32_t row = 0; row < 8; ++row) {
      for (std::uint32_t first = 0; first < kSlabLength; first += 64) {
        for (std::uint32_t pair = 0; pair < 8; pair += 2) {
          fill_block(row, first + pair);
        }
      }
    }
  }
  void fill_block(std::uint32_t row, std::uint32_t first) {
    const BlockBytes bytes = block_bytes(dropout_, 0, dropout_block(16 * slab_ + row, first));
    for (std::uint32_t i = 0; i < 32; ++i) {
      const std::uint32_t of_block = row + i / 16 * 8, column = first + i % 16 / 2 * 8 + i % 2;
      bytes_[std::size_t{of_block} * kSlabLength + column] = bytes[dropout_bit(of_block, column)];
    }
  }

  /// The columns of a block, one after the other.
  void fill_columns() {
    bytes_.resize(std::size_t{16} * kSlabLength);
    const std::uint32_t first = slab_ / 4 * 64 + slab_ % 4 * 2;
    for (std::uint32_t row = 0; row < kSlabLength; ++row) {
      if ((row & 8u) != 0) continue;
      const BlockBytes bytes = block_bytes(dropout_, 0, dropout_block(row, first));
      for (std::uint32_t i = 0; i < 32; ++i) {
        const std::uint32_t of_block = row + i / 16 * 8, column = first + i % 16 / 2 * 8 + i % 2;
        bytes_[std::size_t{i % 16} * kSlabLength + of_block] = bytes[dropout_bit(of_block, column)];
      }
    }
  }

  /// The elements of a block, one after the other, each over all heads or all seeds.
  void fill_elements() {
    bytes_.resize(std::size_t{32} * kSlabLength);
    const DropoutBlock block = dropout_block(slab_ / 16 * 16 + slab_ % 8, slab_ / 8 % 64 * 64);
    for (std::uint32_t i = 0; i < kSlabLength; ++i) {
      const BlockBytes bytes = order_ == Order::kHead
                                   ? block_bytes(dropout_, i, block)
                                   : block_bytes(make_dropout(0.5f, seed_ + i), 0, block);
      for (std::size_t bit = 0; bit < 32; ++bit) bytes_[bit * kSlabLength + i] = bytes[bit];
    }
  }

  Order order_;
  std::uint64_t seed_;
  Dropout dropout_ = make_dropout(0.5f, seed_);
  std::uint32_t slab_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// TestU01 calls a plain function.
ByteStream* g_stream = nullptr;
unsigned int next_number() { return g_stream->next_number(); }

struct Battery {
  bool is_small;
  int test;  // 0: all
};

constexpr int kSmallCrushTests = 10, kCrushTests = 96;

void run_battery(const Battery& battery, unif01_Gen* generator) {
  if (battery.test == 0) {
    battery.is_small ? bbattery_SmallCrush(generator) : bbattery_Crush(generator);
    return;
  }
  std::array<int, kCrushTests + 1> repetitions{};
  repetitions[static_cast<std::size_t>(battery.test)] = 1;
  battery.is_small ? bbattery_RepeatSmallCrush(generator, repetitions.data())
                   : bbattery_RepeatCrush(generator, repetitions.data());
}

/// The tests with a doubtful p-value.
std::set<std::string> doubtful_tests(Order order, const Battery& battery, std::uint64_t seed) {
  ByteStream stream(order, seed);
  g_stream = &stream;
  std::string name = "dropout bytes";
  unif01_Gen* const generator = unif01_CreateExternGenBits(name.data(), next_number);
  swrite_Basic = 0;
  run_battery(battery, generator);
  unif01_DeleteExternGenBits(generator);
  std::set<std::string> doubtful;
  double least = 1.0, most = 0.0;
  for (int i = 0; i < bbattery_NTests; ++i) {
    const double p = bbattery_pVal[i];
    least = p < least ? p : least;
    most = p > most ? p : most;
    if (p < kDoubtful || p > 1.0 - kDoubtful) doubtful.insert(bbattery_TestNames[i]);
  }
  std::printf("seed %llu: %d statistics, p-values %.3g to %.3g, %zu doubtful\n",
              static_cast<unsigned long long>(seed), bbattery_NTests, least, most, doubtful.size());
  return doubtful;
}

/// "crush" and "crush:17".
std::optional<Battery> parse_battery(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (name != "small" && name != "crush") return std::nullopt;
  Battery battery{name == "small", 0};
  if (colon == std::string::npos) return battery;
  battery.test = std::atoi(text.c_str() + colon + 1);
  const int most = battery.is_small ? kSmallCrushTests : kCrushTests;
  if (battery.test < 1 || battery.test > most) return std::nullopt;
  return battery;
}

int run(const std::vector<std::string>& arguments) {
  const std::vector<std::string> orders = {"row", "column", "head", "seed"};
  std::size_t order = 0;
  while (!arguments.empty() && order < orders.size() && orders[order] != arguments[0]) ++order;
  const std::optional<Battery> battery =
      arguments.size() < 2 ? std::nullopt : parse_battery(arguments[1]);
  if (!battery || arguments.size() > 3 || order == orders.size()) {
    std::fputs(
        "usage: dropout_statistics row|column|head|seed small|crush[:TEST] [SEED]; TEST is 1 to 10 "
        "of small, 1 to 96 of crush\n",
        stderr);
    return 2;
  }
  const std::uint64_t seed =
      arguments.size() == 3 ? std::strtoull(arguments[2].c_str(), nullptr, 10) : 1;
  const auto tests = [&](std::uint64_t of) {
    return doubtful_tests(static_cast<Order>(order), *battery, of);
  };
  const std::set<std::string> doubtful = tests(seed);
  if (doubtful.empty()) return 0;
  int recurring = 0;
  for (const std::string& test : tests(seed + (std::uint64_t{1} << 40))) {
    if (doubtful.count(test) == 0) continue;
    std::printf("recurs: %s\n", test.c_str());
    ++recurring;
  }
  return recurring == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sparkbench

int main(int count, char** arguments) {
  return sparkbench::run(std::vector<std::string>(arguments + 1, arguments + count));
}
