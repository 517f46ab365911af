// Numbers as people read them: the digits that mean something, and no more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sparkbench {

/// `value` with that many significant digits: "0.0351", "83.5", "1024"; in exponent form below
/// 1e-4, "3.5e-07". "-" for what is not finite, which is null in files.
std::string significant(double value, int digits);

/// `value` in exponent form with that many significant digits: "3.5e-07"; zero and what is not
/// finite as significant() writes them.
std::string scientific(double value, int digits);

/// In the largest binary unit that leaves at least 1: "512 B", "1.50 MiB".
std::string format_memory(std::uint64_t bytes);

/// "1 problem", "2 problems".
std::string plural(int count, std::string_view noun);

}  // namespace sparkbench
