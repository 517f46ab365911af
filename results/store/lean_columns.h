// Chooses the CSV columns of `--csv`: a run fills few of all columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace sparkbench {

/// A column, built cell by cell, and whether it is kept. It is dropped if it is empty in all rows,
/// or has the same value in all of two rows or more. Exceptions:
///   - columns that identify a case (id, kernel, status, extents, mask, dropout) are always kept;
///   - columns that a reader cannot assume (other axes, run and device, times, errors, memory,
///     predictions, warnings) are dropped only if empty, even if all cases share the value;
///   - tags, which the user gave, are dropped only if empty too.
class LeanColumn {
 public:
  explicit LeanColumn(std::string name) : name_(std::move(name)) {}

  void add(std::string_view cell);
  bool stays() const;

 private:
  std::string name_;
  std::string first_;
  std::size_t rows_ = 0;
  bool varies_ = false;
};

}  // namespace sparkbench
