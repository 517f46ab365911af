// The one choice that names a kernel's arithmetic.
#pragma once

namespace sparkbench {

/// The type of the C operand of an MMA: the paper's FP16-ACC and FP32-ACC.
enum class Accumulator { kFp16, kFp32 };

}  // namespace sparkbench
