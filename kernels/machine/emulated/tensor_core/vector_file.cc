#include "kernels/machine/emulated/tensor_core/vector_file.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/machine/emulated/recorded/recorded_csv.h"
#include "kernels/machine/emulated/tensor_core/block_dot.h"

namespace sparkbench {
namespace {

/// The columns that a header must have once it is known whether it has `kind` and how many terms.
std::vector<std::string> expected_columns(bool has_kind, std::size_t terms) {
  std::vector<std::string> columns;
  if (has_kind) columns.emplace_back("kind");
  for (const char operand : {'a', 'b'}) {
    for (std::size_t k = 0; k < terms; ++k) columns.push_back(fmt::format("{}{}", operand, k));
  }
  columns.insert(columns.end(), {"c_f32", "d_f32", "c_f16", "d_f16"});
  return columns;
}

class Parser {
 public:
  Parser(std::string_view name, std::string_view header) : name_(name) {
    const std::vector<std::string_view> found = split_fields(header);
    has_kind_ = found[0] == "kind";
    for (const std::string_view column : found) terms_ += column.starts_with('a') ? 1 : 0;
    if (terms_ == 0 || terms_ % 4 != 0) {
      fail_at({name_, 1, "a0"}, fmt::format("{} terms, expected a multiple of 4", terms_));
    }
    columns_ = expected_columns(has_kind_, terms_);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view column = i < found.size() ? found[i] : "";
      if (column != columns_[i]) {
        fail_at({name_, 1, columns_[i]}, fmt::format("header has '{}' there", column));
      }
    }
    if (found.size() > columns_.size()) {
      fail_at({name_, 1, found[columns_.size()]}, "unknown column");
    }
  }

  VectorRow row(std::size_t line, std::string_view text) const {
    const std::vector<std::string_view> fields = split_fields(text);
    check_field_count(fields, columns_, {name_, line, ""});
    std::size_t next = has_kind_ ? 1 : 0;
    const auto word = [&](std::size_t digits) {
      const std::size_t i = next++;
      return parse_hexadecimal(fields[i], digits, {name_, line, columns_[i]});
    };
    const auto half = [&] { return Half{static_cast<std::uint16_t>(word(4))}; };
    VectorRow row;
    row.line = line;
    if (has_kind_) row.kind = fields[0];
    for (std::size_t k = 0; k < terms_; ++k) row.a.push_back(half());
    for (std::size_t k = 0; k < terms_; ++k) row.b.push_back(half());
    row.c_f32 = word(8);
    row.d_f32 = word(8);
    row.c_f16 = half();
    row.d_f16 = half();
    return row;
  }

 private:
  std::string name_;
  bool has_kind_ = false;
  std::size_t terms_ = 0;
  std::vector<std::string> columns_;
};

void record(std::size_t& reproduced, ReplayResult& result, const Miss& compared) {
  if (compared.expected == compared.computed) {
    ++reproduced;
  } else if (result.first_misses.size() < kListedMisses) {
    result.first_misses.push_back(compared);
  }
}

}  // namespace

std::vector<VectorRow> read_vector_file(std::istream& in, std::string_view name) {
  std::string line;
  if (!read_line(in, line)) throw std::runtime_error(fmt::format("{}: empty file", name));
  const Parser parser(name, line);
  std::vector<VectorRow> rows;
  for (std::size_t number = 2; read_line(in, line); ++number) {
    rows.push_back(parser.row(number, line));
  }
  if (rows.empty()) throw std::runtime_error(fmt::format("{}: no rows after the header", name));
  return rows;
}

ReplayResult replay(const ArithmeticProfile& profile, const std::vector<VectorRow>& rows) {
  ReplayResult result;
  result.rows = rows.size();
  for (const VectorRow& row : rows) {
    const float d_f32 = dot_accumulate(profile, row.a, row.b, float_from_bits(row.c_f32));
    const Half d_f16 = dot_accumulate(profile, row.a, row.b, row.c_f16);
    record(result.reproduced_f32, result,
           {row.line, row.kind, Accumulator::kFp32, row.d_f32, float_bits(d_f32)});
    record(result.reproduced_f16, result,
           {row.line, row.kind, Accumulator::kFp16, row.d_f16.bits, d_f16.bits});
  }
  return result;
}

}  // namespace sparkbench
