#include "kernels/machine/emulated/recorded/recorded_csv.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "kernels/base/split_text.h"

namespace sparkbench {

void fail_at(const CsvPlace& place, std::string_view what) {
  throw std::runtime_error(
      fmt::format("{}: line {}, column {}: {}", place.file, place.line, place.column, what));
}

bool read_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::vector<std::string_view> split_fields(std::string_view line) { return split_text(line, ','); }

void check_field_count(const std::vector<std::string_view>& fields,
                       const std::vector<std::string>& columns, const CsvPlace& row) {
  if (fields.size() < columns.size()) {
    fail_at({row.file, row.line, columns[fields.size()]}, "missing");
  }
  if (fields.size() > columns.size()) {
    fail_at(
        {row.file, row.line, columns.back()},
        fmt::format("{} more fields after it than the header has", fields.size() - columns.size()));
  }
}

std::uint32_t parse_hexadecimal(std::string_view field, std::size_t digits, const CsvPlace& place) {
  if (field.size() > digits) {
    fail_at(place, fmt::format("'{}' has more than {} digits", field, digits));
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 16);
  if (error != std::errc() || end != field.data() + field.size()) {
    fail_at(place, fmt::format("'{}' is not a hexadecimal number", field));
  }
  return value;
}

}  // namespace sparkbench
