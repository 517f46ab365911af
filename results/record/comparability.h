// Whether the cases of two runs may stand in one table, and what else to say of two runs.
//
// What decides, and must be equal (find_differences):
//   build      every field: another commit or compiler is another kernel
//   device     model, architecture, units, caches, memory and highest clock; the power limit and
//              ECC, which change how fast the same card is
//   libraries  the driver, and of every kernel that both runs have the libraries that it calls: two
//              versions of cuDNN differ by more than what is looked for
//   method     every field and the seed, but not when a case is given up
//   file       of every file of --lengths and --mask that both runs name, what it held
// A resumed run goes on with half-done problems, whose kernel and reference are to share a card:
//   uuid       must be equal for --resume. Shards, and the runs of two nights, may be of two cards
//              of a model: there it is a doubt
// What does not decide, and is told (find_doubts): the card's uuid, the persistence mode, the CUDA
// runtime and cuBLAS where no kernel of both runs calls it, the host; and what decides but is known
// of one run only, as of runs that were stored before it was recorded. Neither: what the card did
// at a moment (temperature, power, throttling), which is there to be read; the memory that was
// free; the peaks, which follow from the name. Of an emulated device its host, driver and libraries
// do not matter: its results are the same bits everywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// What two runs that are put together should share, as --allow names it.
inline constexpr std::string_view kBuild = "build", kDevice = "device", kLibraries = "libraries",
                                  kMethod = "method", kFile = "file";

struct Difference {
  std::string_view of;  // kBuild, kDevice, kLibraries, kMethod or kFile
  std::string field;    // "method.min_samples", "libraries of cudnn: cudnn", "'a.txt' of --lengths"
  std::string first, second;
};

/// What two runs have: "another method: method.min_samples is 20 and 30", "different contents of
/// the file 'a.txt' of --lengths: ... and ...".
std::string words_of(const Difference& difference);

/// Why the cases of two runs should not stand in one table; in one run, or one sweep of many cards.
std::vector<Difference> find_differences(const RunRecord& first, const RunRecord& second);

/// find_differences(), and whether `now` is another card than `then`.
std::vector<Difference> find_changes(const RunRecord& then, const RunRecord& now);

/// What else differs, or cannot be compared since one run does not know it ("null").
std::vector<Difference> find_doubts(const RunRecord& first, const RunRecord& second);

}  // namespace sparkbench
