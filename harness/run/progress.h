// Shows the progress of a sweep on the error stream.
//   On a terminal one line, rewritten:  [17/48] volta-fp32acc/fwd/...  ETA 1m52s
//   Elsewhere one plain line per case, and more if it takes 10 s, a minute, six minutes, ...
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "results/record/case_record.h"

namespace sparkbench {

class Progress {
 public:
  /// Writes nothing if `is_shown` is false. `width`: of the terminal, empty without one. A longer
  /// line would wrap, and its first half would stay on the screen.
  Progress(std::ostream& stream, std::size_t total, bool is_shown, std::optional<int> width);
  /// Clears the terminal's line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin_case(const std::string& id);
  void end_case(const CaseRecord& record);
  /// Shows from time to time that the latest case is still running.
  void wait(std::chrono::steady_clock::time_point now);
  /// Prints lines of text next to the progress, even if the progress is hidden.
  void note(const std::string& text);

 private:
  std::string eta() const;
  std::string line_of(const std::string& id, const std::string& duration = "") const;

  std::ostream& stream_;
  std::size_t total_;
  std::size_t done_ = 0;
  bool is_shown_;
  std::optional<int> width_;
  std::chrono::steady_clock::time_point start_, case_start_;
  std::string case_id_;  // of the latest case; "" once it has ended
  double next_word_s_ = 0;
};

/// "45s", "1m52s", "2h03m"
std::string format_duration(double seconds);

/// The outcome of a case in a few words: "ok, error 0.020 %, 0.824 ms".
std::string format_outcome(const CaseRecord& record);

}  // namespace sparkbench
