#include "sweeps/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/base/closest_name.h"
#include "kernels/base/files/input_file.h"
#include "kernels/base/philox.h"
#include "kernels/base/split_text.h"
#include "sweeps/list_flag.h"
#include "sweeps/text_hash.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::string_view kFlag = "--lengths";
constexpr std::string_view kNone = "none";
constexpr std::string_view kUniform = "uniform:";
constexpr std::string_view kFile = "file:";
constexpr std::string_view kAllowedInLine =
    "one length, or two (of q and of k), from 0 to 16m (suffix k = 1024, m = 1024k)";
constexpr std::uint64_t kMostFileBytesOfLengths = std::uint64_t{64} << 20;
constexpr std::size_t kMostSequences = (std::size_t{1} << 22) - 1;  // kernels/varlen/work_lists.cc
constexpr std::int64_t kMostTokens = (std::int64_t{1} << 30) - 1;   // kernels/mask/key_mask.h
constexpr int kDrawRounds = 10;
constexpr std::uint32_t kDrawStream = 0x6c656e67u;  // "leng": unique to this random stream

using Lengths = std::vector<SequenceLength>;

struct UniformRange {
  int least, most;
};

[[noreturn]] void reject(std::string_view flag, std::string_view item, std::string_view wrong) {
  throw UsageError(fmt::format("{}: '{}' {}; allowed: {}", flag, item, wrong, kLengthsForms));
}

UniformRange uniform_range(std::string_view flag, std::string_view item) {
  const std::vector<std::string_view> parts = split_text(item.substr(kUniform.size()), ':');
  if (parts.size() != 2) reject(flag, item, "has not two numbers");
  const UniformRange range{parse_length(flag, item, parts[0], kLengthsForms),
                           parse_length(flag, item, parts[1], kLengthsForms)};
  if (range.least > range.most) reject(flag, item, "runs from the larger to the smaller");
  return range;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The lengths in a line that is not blank.
SequenceLength length_of_line(const std::string& place, std::string_view line) {
  const std::size_t first_end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view of_keys = trimmed(line.substr(first_end));
  const int q = parse_length(place, line, line.substr(0, first_end), kAllowedInLine);
  return {q, of_keys.empty() ? q : parse_length(place, line, of_keys, kAllowedInLine)};
}

Lengths read_lengths(std::string_view flag, std::string_view item) {
  const std::string path(item.substr(kFile.size()));
  std::string text;
  try {
    text = read_file(path, Pipes::kRefused, kMostFileBytesOfLengths);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: file '{}' {}; allowed: a text file with {} a line", flag,
                                 path, error.what(), kAllowedInLine));
  }
  Lengths lengths;
  int number = 0;
  for (const std::string_view each : split_text(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(each);
    if (line.empty() || line.front() == '#') continue;
    const std::string place = fmt::format("{}: file '{}', line {}", flag, path, number);
    lengths.push_back(length_of_line(place, line));
  }
  return lengths;
}

Lengths draw_lengths(const UniformRange& range, int count, std::uint64_t seed) {
  const auto values = static_cast<std::uint64_t>(range.most - range.least) + 1;
  Lengths lengths;
  for (int i = 0; i < count; ++i) {
    const PhiloxBlock random = philox4x32<kDrawRounds>(
        {{static_cast<std::uint32_t>(i), 0, 0, kDrawStream}}, philox_key(seed));
    const int drawn = range.least + static_cast<int>(random.word[0] * values >> 32);
    lengths.push_back({drawn, drawn});
  }
  return lengths;
}

/// Throws UsageError for lengths that no kernel supports.
void require_possible(std::string_view flag, std::string_view item, const Lengths& lengths) {
  std::int64_t q = 0, k = 0;
  for (const SequenceLength& length : lengths) {
    q += length.q;
    k += length.k;
  }
  if (lengths.size() > kMostSequences || std::max(q, k) > kMostTokens) {
    throw UsageError(fmt::format(
        "{}: '{}' makes {} sequences of {} tokens; allowed: fewer than 2^22, of less than 2^30",
        flag, item, lengths.size(), std::max(q, k)));
  }
}

/// The form that an invalid item probably meant.
std::string hint_of(std::string_view item) {
  constexpr std::string_view kWords[] = {"uniform", "file", kNone};
  const std::size_t end = std::min(item.find(':'), item.size());
  const std::string word = closest_name(item.substr(0, end), kWords);
  return did_you_mean(word.empty() ? "" : word + std::string(item.substr(end)));
}

std::string parse_item(std::string_view flag, std::string_view item) {
  if (item.starts_with(kUniform)) {
    const UniformRange range = uniform_range(flag, item);
    return fmt::format("{}{}:{}", kUniform, range.least, range.most);
  }
  if (!item.starts_with(kFile)) {
    reject(flag, item, item == kNone ? "stands alone" : "says no lengths" + hint_of(item));
  }
  require_possible(flag, item, read_lengths(flag, item));
  return std::string(item);
}

}  // namespace

std::vector<std::string> parse_lengths(std::string_view flag, std::string_view text) {
  std::vector<std::string> specs;
  if (text == kNone) return specs;
  for (const std::string_view item : split_list(flag, text)) {
    std::string spec = parse_item(flag, item);
    if (std::find(specs.begin(), specs.end(), spec) == specs.end()) {
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

bool is_of_file(std::string_view lengths) { return lengths.starts_with(kFile); }

int mean_length(std::string_view lengths) {
  const UniformRange range = uniform_range(kFlag, lengths);
  return std::max(1, range.least + (range.most - range.least) / 2);
}

void set_lengths(CaseProblem& problem) {
  const std::string& spec = problem.lengths_spec.value();
  const Lengths lengths =
      is_of_file(spec) ? read_lengths(kFlag, spec)
                       : draw_lengths(uniform_range(kFlag, spec), problem.batch, problem.seed);
  require_possible(kFlag, spec, lengths);
  if (problem.batch != 0 && static_cast<std::size_t>(problem.batch) != lengths.size()) {
    throw UsageError(fmt::format("--batch: {}, but {} has {} sequences; leave --batch out",
                                 problem.batch, spec, lengths.size()));
  }
  static_cast<Problem&>(problem) =
      with_lengths(problem, std::make_shared<const SequenceLengths>(lengths));
  problem.total_q = problem.lengths->total_q();
  problem.total_k = problem.lengths->total_k();
  problem.lengths_hash = hash_of(*problem.lengths);
}

std::string hash_of(const SequenceLengths& lengths) {
  std::string text;
  for (int i = 0; i < lengths.batch(); ++i) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", lengths.q(i), lengths.k(i));
  }
  return text_hash(text);
}

}  // namespace sparkbench
