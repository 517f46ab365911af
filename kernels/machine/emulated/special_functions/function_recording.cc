#include "kernels/machine/emulated/special_functions/function_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "kernels/machine/emulated/recorded/recorded_csv.h"

namespace sparkbench {
namespace {

NamedSpecialFunction function_of(std::string_view column, std::string_view file) {
  const auto* const found =
      std::find_if(std::begin(kSpecialFunctions), std::end(kSpecialFunctions),
                   [&](const NamedSpecialFunction& known) { return known.name == column; });
  if (found == std::end(kSpecialFunctions)) {
    fail_at({file, 1, column}, "no special function has that name");
  }
  return *found;
}

std::vector<RecordedFunction> functions_of(const std::vector<std::string>& columns,
                                           std::string_view file) {
  if (columns[0] != "x") fail_at({file, 1, "x"}, fmt::format("header has '{}' there", columns[0]));
  if (columns.size() == 1) fail_at({file, 1, "x"}, "no function after it");
  std::vector<RecordedFunction> functions;
  for (auto column = columns.begin() + 1; column != columns.end(); ++column) {
    if (std::find(columns.begin(), column, *column) != column) {
      fail_at({file, 1, *column}, "twice in the header");
    }
    functions.push_back({function_of(*column, file), {}});
  }
  return functions;
}

FunctionReplay replay_one(const std::vector<std::uint32_t>& inputs,
                          const RecordedFunction& recorded) {
  FunctionReplay result{recorded.function, inputs.size(), 0, {}};
  for (std::size_t row = 0; row < inputs.size(); ++row) {
    const std::uint32_t expected = recorded.results[row];
    const std::uint32_t computed = emulated_bits(recorded.function.function, inputs[row]);
    if (computed == expected) {
      ++result.reproduced;
    } else if (result.first_misses.size() < kListedFunctionMisses) {
      result.first_misses.push_back({row, inputs[row], expected, computed});
    }
  }
  return result;
}

}  // namespace

FunctionRecording read_function_recording(std::istream& in, std::string_view name) {
  std::string line;
  if (!read_line(in, line)) throw std::runtime_error(fmt::format("{}: empty file", name));
  const std::vector<std::string_view> header = split_fields(line);
  const std::vector<std::string> columns(header.begin(), header.end());
  FunctionRecording recording{{}, functions_of(columns, name)};
  for (std::size_t number = 2; read_line(in, line); ++number) {
    const std::vector<std::string_view> fields = split_fields(line);
    check_field_count(fields, columns, {name, number, ""});
    recording.inputs.push_back(parse_hexadecimal(fields[0], 8, {name, number, "x"}));
    for (std::size_t i = 1; i < fields.size(); ++i) {
      recording.functions[i - 1].results.push_back(
          parse_hexadecimal(fields[i], 8, {name, number, columns[i]}));
    }
  }
  if (recording.inputs.empty()) {
    throw std::runtime_error(fmt::format("{}: no rows after the header", name));
  }
  return recording;
}

std::vector<FunctionReplay> replay(const FunctionRecording& recording) {
  std::vector<FunctionReplay> results;
  results.reserve(recording.functions.size());
  for (const RecordedFunction& recorded : recording.functions) {
    results.push_back(replay_one(recording.inputs, recorded));
  }
  return results;
}

}  // namespace sparkbench
