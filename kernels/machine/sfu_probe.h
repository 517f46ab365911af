// Asks a GPU for its special functions, to compare their bits with the emulator's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/machine/emulated/special_functions/special_function.h"

namespace sparkbench {

/// Evaluates `function` on the current GPU for `count` host floats, given and returned as bits.
/// Throws std::runtime_error when the GPU fails.
void probe_special_function(SpecialFunction function, const std::uint32_t* inputs,
                            std::uint32_t* results, std::size_t count);

}  // namespace sparkbench
