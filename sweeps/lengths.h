// `--lengths`: how long each sequence of a batch is, instead of one `--seqlen` for all.
//   uniform:A:B  whole numbers from A to B, each as likely, a draw for each sequence, which has
//                as many rows as keys
//   file:PATH    a sequence a line: its length, or two, of rows and of keys, blanks between.
//                Empty lines, and those that begin with #, count for nothing
// Lengths are from 0 to 16m (suffix k = 1024, m = 1024k), at most 2^22 of them, of less than 2^30
// in all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/case_problem.h"

namespace sparkbench {

inline constexpr std::string_view kLengthsForms =
    "uniform:A:B, file:PATH (a length a line, or two: of q and k), or none";

/// The items of a comma list, each once: "uniform:1:2k" as "uniform:1:2048". Files are read, and
/// what is wrong in one is said by file and line. Of "none", which stands alone, none. Throws
/// UsageError, one line that names `flag`.
std::vector<std::string> parse_lengths(std::string_view flag, std::string_view text);

/// Whether `lengths`, an item of parse_lengths(), is of a file: it then says how many there are.
bool is_of_file(std::string_view lengths);

/// The mean of what a uniform:A:B draws, rounded down, and at least 1.
int mean_length(std::string_view lengths);

/// Gives the problem the sequences that its lengths_spec describes: so many of a file as it has,
/// and `batch` that are drawn by the problem's seed. The first of more draws are those of fewer.
/// Throws UsageError for a file that is not as it should be, for a batch of another number than the
/// file has, unless it is 0, and for more tokens than there may be.
void set_lengths(CaseProblem& problem);

/// FNV-1a (64 bits), 16 hexadecimal digits, of "Q K\n" for each sequence, in decimal digits.
std::string hash_of(const SequenceLengths& lengths);

}  // namespace sparkbench
