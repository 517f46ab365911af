// What all mma instructions share.
#pragma once

namespace sparkbench {

/// The two factors of C += A B.
enum class Operand { kA, kB };

}  // namespace sparkbench
