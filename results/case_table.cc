#include "results/case_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "results/enum_names.h"
#include "results/number_format.h"
#include "results/shortest.h"

namespace sparkbench {
namespace {

using CellOf = std::function<std::string(const CaseRecord&)>;

struct ColumnRule {
  std::string_view title;
  CellOf cell;  // "" where the case has no value
};

constexpr std::string_view kNoValue = "-";

template <class T>
std::string digits_of(const std::optional<T>& value, int digits) {
  return value ? significant(*value, digits) : "";
}

CellOf problem_cell(int ProblemRecord::*extent) {
  return [extent](const CaseRecord& record) { return std::to_string(record.problem.*extent); };
}

CellOf error_cell(double Accuracy::*metric) {
  return [metric](const CaseRecord& record) {
    return record.accuracy ? scientific((*record.accuracy).*metric, 3) : "";
  };
}

std::string rel_l1_percent_cell(const CaseRecord& record) {
  return record.accuracy ? significant(100.0 * record.accuracy->rel_l1, 3) : "";
}

std::string time_cell(const CaseRecord& record) {
  if (!record.time_ms) return "";
  return significant(record.time_ms->median, 4) + (record.valid ? "" : " (invalid)");
}

std::string memory_cell(const CaseRecord& record) {
  if (!record.memory_bytes) return "";
  return format_memory(record.memory_bytes->peak.value_or(record.memory_bytes->predicted));
}

/// What was asked. Leads the table where it varies, and its head where it does not.
std::vector<ColumnRule> problem_rules() {
  return {
      {"kernel", [](const CaseRecord& c) { return c.kernel; }},
      {"pass", [](const CaseRecord& c) { return std::string(name_of(c.problem.pass)); }},
      {"head_dim", problem_cell(&ProblemRecord::head_dim)},
      {"seqlen_q", problem_cell(&ProblemRecord::seqlen_q)},
      {"seqlen_k", problem_cell(&ProblemRecord::seqlen_k)},
      {"causal", [](const CaseRecord& c) { return c.problem.causal ? "true" : "false"; }},
      {"dropout", [](const CaseRecord& c) { return shortest(c.problem.dropout_p); }},
      {"batch", problem_cell(&ProblemRecord::batch)},
      {"heads", problem_cell(&ProblemRecord::heads)},
  };
}

/// What came out. Always in the table, unless no case has a value.
std::vector<ColumnRule> result_rules() {
  return {
      {"time_ms", time_cell},
      {"tflops", [](const CaseRecord& c) { return digits_of(c.tflops, 4); }},
      {"speedup",
       [](const CaseRecord& c) { return c.speedup ? significant(c.speedup->ratio, 3) : ""; }},
      {"memory", memory_cell},
      {"rel_l1 %", rel_l1_percent_cell},
      {"rel_l2", error_cell(&Accuracy::rel_l2)},
      {"max_abs", error_cell(&Accuracy::max_abs)},
      {"error_ratio",
       [](const CaseRecord& c) { return c.accuracy ? digits_of(c.accuracy->error_ratio, 3) : ""; }},
      {"status", [](const CaseRecord& c) { return std::string(name_of(c.status)); }},
  };
}

TextColumn make_column(const ColumnRule& rule, const std::vector<CaseRecord>& cases) {
  TextColumn column;
  column.title = rule.title;
  for (const CaseRecord& record : cases) column.cells.push_back(rule.cell(record));
  column.right_aligned = rule.title != "kernel" && rule.title != "status";
  return column;
}

bool is_constant(const TextColumn& column) {
  return std::adjacent_find(column.cells.begin(), column.cells.end(), std::not_equal_to<>()) ==
         column.cells.end();
}

bool has_no_value(const TextColumn& column) {
  return std::all_of(column.cells.begin(), column.cells.end(),
                     [](const std::string& cell) { return cell.empty(); });
}

bool is_self_attention(const std::vector<CaseRecord>& cases) {
  return std::all_of(cases.begin(), cases.end(), [](const CaseRecord& record) {
    return record.problem.seqlen_q == record.problem.seqlen_k;
  });
}

std::string head_of(const RunRecord& run, const std::vector<std::string>& constants) {
  const DeviceInfo& device = run.environment.device;
  std::string head =
      fmt::format("{} ({}, {} arithmetic)", device.name, name_of(device.kind), device.arithmetic);
  for (const std::string& constant : constants) head += ", " + constant;
  return head + "\n\n";
}

}  // namespace

std::string format_case_table(const RunRecord& run, TableStyle style) {
  std::vector<std::string> constants;
  std::vector<TextColumn> columns;
  const bool is_self = is_self_attention(run.cases);
  for (const ColumnRule& rule : problem_rules()) {
    TextColumn column = make_column(rule, run.cases);
    if (column.cells.empty()) continue;
    if (rule.title == "seqlen_k" && is_self) {
      constants.push_back("seqlen_k = seqlen_q");
    } else if (!is_constant(column)) {
      columns.push_back(std::move(column));
    } else {
      constants.push_back(fmt::format("{} {}", rule.title, column.cells.front()));
    }
  }
  for (const ColumnRule& rule : result_rules()) {
    TextColumn column = make_column(rule, run.cases);
    if (has_no_value(column)) continue;
    std::replace(column.cells.begin(), column.cells.end(), std::string(), std::string(kNoValue));
    columns.push_back(std::move(column));
  }
  return head_of(run, constants) + format_columns(columns, style);
}

}  // namespace sparkbench
