// Which columns of CSV `--csv` writes: a run fills few of all that there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace sparkbench {

/// A column as its cells come, and whether it stays. It goes if it is empty in all rows, or has the
/// same value in two rows or more. Three kinds are spared:
///   - what names a case (id, kernel, status, its problem's extents, mask, dropout) always stays;
///   - what a reader cannot assume (other axes, which run and device, times, errors, memory,
///     predictions, warnings) stays unless it is empty, even where all cases share the value;
///   - so do the tags, which the user gave.
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
