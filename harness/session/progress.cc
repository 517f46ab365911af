#include "harness/session/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "results/record/enum_names.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::ostream& stream, std::size_t total, bool is_shown, bool is_terminal)
    : stream_(stream),
      total_(total),
      is_shown_(is_shown),
      is_terminal_(is_terminal),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (is_shown_ && is_terminal_) stream_ << kClearLine << std::flush;
}

void Progress::begin_case(const std::string& id) {
  if (!is_shown_ || !is_terminal_) return;
  stream_ << kClearLine << fmt::format("[{}/{}] {}  {}", done_ + 1, total_, id, eta())
          << std::flush;
}

void Progress::end_case(const CaseRecord& record) {
  ++done_;
  if (!is_shown_ || is_terminal_) return;
  stream_ << fmt::format("[{}/{}] {}  {}\n", done_, total_, record.id, format_outcome(record))
          << std::flush;
}

void Progress::note(const std::string& text) {
  stream_ << (is_shown_ && is_terminal_ ? kClearLine : "") << text << '\n' << std::flush;
}

std::string Progress::eta() const {
  if (done_ == 0) return "";
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return "ETA " + format_duration(elapsed / static_cast<double>(done_) *
                                  static_cast<double>(total_ - done_));
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string format_outcome(const CaseRecord& record) {
  std::string text(name_of(record.status));
  if (const auto error = worst_rel_l1(record); error && std::isfinite(*error)) {
    text += fmt::format(", error {:.3g} %", 100 * *error);
  }
  if (record.time_ms) text += fmt::format(", {:.4g} ms", record.time_ms->median);
  if (record.reason) text += ": " + record.reason->message;
  return text;
}

}  // namespace sparkbench
