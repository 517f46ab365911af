// Special functions recorded on a GPU, as CSV, and their replay by the emulated ones.
//
//   x,ex2_approx_ftz,rcp_approx_ftz
//   3ec147bb,3fa6488d,40298948
//
// Bit patterns of floats in hexadecimal. Any of the functions of special_function.h may be columns,
// in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/special_functions/special_function.h"

namespace sparkbench {

/// One column of a recording.
struct RecordedFunction {
  NamedSpecialFunction function;
  std::vector<std::uint32_t> results;  // as many as there are inputs
};

struct FunctionRecording {
  std::vector<std::uint32_t> inputs;
  std::vector<RecordedFunction> functions;
};

/// Throws std::runtime_error, naming `name`, the line and the column, when the header is not "x"
/// and then functions, each once, a row has too few or too many fields, a field is not hexadecimal
/// or longer than 8 digits, or there is no row.
FunctionRecording read_function_recording(std::istream& in, std::string_view name);

struct FunctionMiss {
  std::size_t row;         // counted from 0
  std::uint32_t x;         // bits, as are the others
  std::uint32_t expected;  // as recorded
  std::uint32_t computed;
};

struct FunctionReplay {
  NamedSpecialFunction function;
  std::size_t rows = 0;
  std::size_t reproduced = 0;
  std::vector<FunctionMiss> first_misses;  // at most kListedFunctionMisses
};

inline constexpr std::size_t kListedFunctionMisses = 10;

/// Recomputes every result and compares bits, those of NaN too; one replay for each function.
std::vector<FunctionReplay> replay(const FunctionRecording& recording);

}  // namespace sparkbench
