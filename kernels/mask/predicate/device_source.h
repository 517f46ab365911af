// An expression as C, for a compiler of device code.
#pragma once

#include <string>

#include "kernels/mask/predicate/expression.h"

namespace sparkbench {

/// A text of type Whole, of the functions of whole_numbers.h and of the names q, k, h, seqlen_q and
/// seqlen_k, which are Whole. Where an operand decides it skips the others, as C does.
std::string c_text_of(const Expression& expression);

}  // namespace sparkbench
