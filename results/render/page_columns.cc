#include "results/render/page_columns.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace sparkbench {
namespace {

/// The first columns from the left: speed, memory, error.
constexpr auto kFirst = std::to_array<std::string_view>(
    {"time_ms", "predicted_ms", "speedup", "predicted_speedup", "memory", "rel_l1", "dq_rel_l1",
     "dk_rel_l1", "dv_rel_l1", "status"});

bool is_identity(const CaseColumn& column) {
  return column.axis != nullptr || column.name == "kernel" || column.name == "model";
}

/// 0 for the kernel and the axes; then kFirst in its order; then the rest.
std::ptrdiff_t place_of(const CaseColumn& column) {
  if (is_identity(column)) return 0;
  return 1 + (std::find(kFirst.begin(), kFirst.end(), column.name) - kFirst.begin());
}

/// All columns with a value, in the page's order.
std::vector<const CaseColumn*> columns_with_values(const std::vector<CaseRecord>& cases) {
  std::vector<const CaseColumn*> columns;
  for (const CaseColumn& column : case_columns()) {
    if (!has_no_value(text_column_of(column, cases))) columns.push_back(&column);
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [](const auto* a, const auto* b) { return place_of(*a) < place_of(*b); });
  return columns;
}

/// Values that all cases share are in the heading; others are secondary to the first columns.
bool is_shown_at_first(const CaseColumn& column, const std::vector<CaseRecord>& cases) {
  if (column.rank == kOnlyWhenAsked) return false;
  const bool is_first = std::find(kFirst.begin(), kFirst.end(), column.name) != kFirst.end();
  if (is_first || column.name == "kernel" || column.name == "model") return true;
  const bool is_twin = column.axis != nullptr && column.axis->twin != nullptr &&
                       std::all_of(cases.begin(), cases.end(), [&](const CaseRecord& record) {
                         return equals_twin(*column.axis, record.problem);
                       });
  return !is_twin && !is_constant(text_column_of(column, cases));
}

/// In one line.
std::string title_of(const CaseColumn& column) {
  std::string title = column.axis == nullptr ? column.title : column.axis->heading;
  if (const std::size_t end = title.find('\n'); end != std::string::npos) {
    const bool is_at_slash = title[end - 1] == '/' || title[end + 1] == '/';
    title[end] = ' ';
    if (is_at_slash) title.erase(end, 1);
  }
  return title;
}

}  // namespace

std::vector<PageColumn> page_columns(const std::vector<CaseRecord>& cases) {
  std::vector<PageColumn> columns;
  for (const CaseColumn* column : columns_with_values(cases)) {
    columns.push_back({column, title_of(*column), is_shown_at_first(*column, cases),
                       is_identity(*column) || column->name == "status"});
  }
  return columns;
}

}  // namespace sparkbench
