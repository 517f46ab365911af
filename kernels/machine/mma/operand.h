// Shared by all mma instructions.
#pragma once

namespace sparkbench {

/// How a factor lies in registers or in memory: the row-major one has its rows contiguous.
enum class Major { kRow, kColumn };

/// The two factors of C += A B.
enum class Operand { kA, kB };

}  // namespace sparkbench
