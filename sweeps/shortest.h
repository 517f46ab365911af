// Floating-point numbers as the shortest text that reads back equal.
#pragma once

#include <string>

namespace sparkbench {

/// "0.1", "1e-07"; "" if not finite, because files have null for such values.
std::string shortest(double value);
std::string shortest(float value);

/// The double with the same decimal text as `value`: 0.1f gives 0.1, not 0.10000000149011612.
double widen_as_written(float value);

}  // namespace sparkbench
