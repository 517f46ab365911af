// Numbers for people, with only their significant digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sparkbench {

/// `value` with that many significant digits: "0.0351", "83.5", "1024"; below 1e-4 in exponent
/// form, "3.5e-07". "-" for a number that is not finite, which is null in files.
std::string significant(double value, int digits);

/// `value` in exponent form with that many significant digits: "3.5e-07". Zero and numbers that are
/// not finite are as in significant().
std::string scientific(double value, int digits);

/// In the largest binary unit that gives at least 1: "512 B", "1.50 MiB".
std::string format_memory(std::uint64_t bytes);

/// "1 problem", "2 problems".
std::string plural(int count, std::string_view noun);

}  // namespace sparkbench
