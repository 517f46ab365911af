// When an instruction's sources cannot be read in time: three of them in one bank of the register
// file, or operands of a tensor instruction that no instruction before it left in the reuse cache.
#pragma once

#include <vector>

#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

/// For each instruction of a function.
struct RegisterCosts {
  /// Of FP32 and integer instructions: three different registers of one of the two banks, none left
  /// in the reuse cache by the instruction before.
  std::vector<bool> has_bank_conflict;
  /// Of an HMMA: neither A nor B is what the HMMA before it left in the reuse cache.
  std::vector<bool> lacks_reuse;
};

/// "Before" is in memory order, which is the order of execution inside a loop's straight code.
RegisterCosts register_costs(const SassFunction& function);

}  // namespace sparkbench
