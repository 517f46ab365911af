// An expression as C, for a compiler of device code.
#pragma once

#include <string>

#include "kernels/mask/predicate/expression.h"

namespace sparkbench {

/// A C text of type Whole, over the functions of whole_numbers.h and the names q, k, h, seqlen_q
/// and seqlen_k, which are Whole. It skips operands that do not matter, as C does.
std::string c_text_of(const Expression& expression);

}  // namespace sparkbench
