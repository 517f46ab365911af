// CSV files of bit patterns in hexadecimal, recorded on a GPU: what their readers have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// A place in a file, the header being line 1.
struct CsvPlace {
  std::string_view file;
  std::size_t line;
  std::string_view column;
};

/// Throws std::runtime_error: "FILE: line N, column C: what".
[[noreturn]] void fail_at(const CsvPlace& place, std::string_view what);

/// Reads a line without its end, be it "\n" or "\r\n"; false when there is none.
bool read_line(std::istream& in, std::string& line);

/// The fields of a line, which point into it.
std::vector<std::string_view> split_fields(std::string_view line);

/// Fails at the first column without a field, or at the last one when there are more fields.
void check_field_count(const std::vector<std::string_view>& fields,
                       const std::vector<std::string>& columns, const CsvPlace& row);

/// Fails when the field is not a hexadecimal number of at most that many digits.
std::uint32_t parse_hexadecimal(std::string_view field, std::size_t digits, const CsvPlace& place);

}  // namespace sparkbench
