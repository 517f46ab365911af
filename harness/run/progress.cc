#include "harness/run/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "results/record/enum_names.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr const char* kClearLine = "\r\x1b[K";
constexpr double kFirstWordS = 10, kLongerEachTime = 6;

}  // namespace

Progress::Progress(std::ostream& stream, std::size_t total, bool is_shown, std::optional<int> width)
    : stream_(stream),
      total_(total),
      is_shown_(is_shown),
      width_(width),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (is_shown_ && width_) stream_ << kClearLine << std::flush;
}

void Progress::begin_case(const std::string& id) {
  case_id_ = id;
  case_start_ = std::chrono::steady_clock::now();
  next_word_s_ = kFirstWordS;
  if (!is_shown_ || !width_) return;
  stream_ << kClearLine << line_of(id) << std::flush;
}

void Progress::end_case(const CaseRecord& record) {
  ++done_;
  case_id_.clear();
  if (!is_shown_ || width_) return;
  stream_ << fmt::format("[{}/{}] {}  {}\n", done_, total_, record.id, format_outcome(record))
          << std::flush;
}

void Progress::wait(std::chrono::steady_clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - case_start_).count();
  if (!is_shown_ || case_id_.empty() || seconds < next_word_s_) return;
  if (width_) {
    next_word_s_ = seconds + 1;
    stream_ << kClearLine << line_of(case_id_, "  for " + format_duration(seconds)) << std::flush;
    return;
  }
  next_word_s_ *= kLongerEachTime;
  stream_ << fmt::format("[{}/{}] {}  has run for {}\n", done_ + 1, total_, case_id_,
                         format_duration(seconds))
          << std::flush;
}

void Progress::note(const std::string& text) {
  stream_ << (is_shown_ && width_ ? kClearLine : "") << text << '\n' << std::flush;
}

/// Cuts the end of an id that is too long for the line, marked by `...`.
std::string Progress::line_of(const std::string& id, const std::string& duration) const {
  const std::string count = fmt::format("[{}/{}] ", done_ + 1, total_);
  const std::string rest = duration + "  " + eta();
  const std::size_t taken = count.size() + rest.size() + 1;
  const auto width = static_cast<std::size_t>(*width_);
  if (taken + id.size() <= width) return count + id + rest;
  const std::string cut = taken + 3 < width ? id.substr(0, width - taken - 3) + "..." : "";
  return (count + cut + rest).substr(0, width - 1);
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
