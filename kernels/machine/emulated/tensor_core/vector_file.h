// Dot products recorded on a GPU, as CSV, and their replay by an arithmetic profile.
//
//   kind,a0,a1,a2,a3,b0,b1,b2,b3,c_f32,d_f32,c_f16,d_f16
//   edge,3c00,fbff,0400,3c00,0001,3c00,7bff,0000,00000000,c77fdc00,0000,fbff
//
// Bit patterns in hexadecimal: a and b fp16, d = a . b + c once with c and d in fp32 and once in
// fp16. The number of a columns is the K of the instruction. The column `kind`, a word for the sort
// of inputs, may be missing; else it is the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/accumulator.h"
#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"

namespace sparkbench {

struct VectorRow {
  std::size_t line;  // in the file, the header being line 1
  std::string kind;  // empty when the file has no such column
  std::vector<Half> a, b;
  std::uint32_t c_f32, d_f32;
  Half c_f16, d_f16;
};

/// All rows of a file. Throws std::runtime_error, naming `name`, the line and the column, when the
/// header is not the one above, a row has too few or too many fields, a field is not hexadecimal
/// or longer than its type, or there is no row.
std::vector<VectorRow> read_vector_file(std::istream& in, std::string_view name);

struct Miss {
  std::size_t line;
  std::string kind;
  Accumulator accumulator;
  std::uint32_t expected;  // bits, as recorded
  std::uint32_t computed;
};

struct ReplayResult {
  std::size_t rows = 0;
  std::size_t reproduced_f32 = 0;
  std::size_t reproduced_f16 = 0;
  std::vector<Miss> first_misses;  // at most kListedMisses

  bool all_reproduced() const { return reproduced_f32 == rows && reproduced_f16 == rows; }
};

inline constexpr std::size_t kListedMisses = 10;

/// Recomputes every row and compares bits, those of NaN too. A row's terms are cut into the
/// profile's blocks, so 16 terms are two blocks of ampere and four of volta.
ReplayResult replay(const ArithmeticProfile& profile, const std::vector<VectorRow>& rows);

}  // namespace sparkbench
