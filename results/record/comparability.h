// Whether the cases of two runs may be in one table, and other doubts about comparing them.
//
// These must be equal (find_differences):
//   build      every field: another commit or compiler makes another kernel. The version and the
//              file of a kernel that both runs have from a library of the user's
//   device     model, architecture, units, caches, memory and highest clock; the power limit and
//              ECC, which change the speed of a card
//   libraries  the driver, and the libraries that each kernel in both runs calls: two cuDNN
//              versions differ by more than the differences of interest
//   method     every field and the seed, except the time limit of a case
//   file       the contents of every file of --lengths and --mask that both runs name
// A resumed run continues half-done problems, whose kernel and reference should share a card:
//   uuid       must be equal for --resume. Shards, or runs of two nights, may use two cards of one
//              model; then it is a doubt
// These are reported as doubts (find_doubts): the card's uuid; the persistence mode; the CUDA
// runtime and cuBLAS if no kernel in both runs calls it; the host; and required values that only
// one run knows, such as values that older runs did not record. These are ignored: the card's
// momentary state (temperature, power, throttling); its free memory; its peaks, which follow from
// the name. For an emulated device host, driver and libraries do not matter: its results have the
// same bits everywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// The properties that runs must share to be merged, by the names of --allow.
inline constexpr std::string_view kBuild = "build", kDevice = "device", kLibraries = "libraries",
                                  kMethod = "method", kFile = "file";

struct Difference {
  std::string_view of;  // kBuild, kDevice, kLibraries, kMethod or kFile
  std::string field;    // "method.min_samples", "libraries of cudnn: cudnn", "'a.txt' of --lengths"
  std::string first, second;
};

/// "another method: method.min_samples is 20 and 30", "different contents of the file 'a.txt' of
/// --lengths: ... and ...".
std::string words_of(const Difference& difference);

/// Why the cases of two runs should not be in one table, in one run, or in one sweep over many
/// cards.
std::vector<Difference> find_differences(const RunRecord& first, const RunRecord& second);

/// find_differences(), and whether `now` is another card than `then`.
std::vector<Difference> find_changes(const RunRecord& then, const RunRecord& now);

/// Other differences, and values that one run does not know ("null").
std::vector<Difference> find_doubts(const RunRecord& first, const RunRecord& second);

}  // namespace sparkbench
