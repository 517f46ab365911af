// What `sparkbench judge` says of a kernel: whether it is right, and where it is wrong; its error,
// whether it repeats its bits, its speed beside others, its memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"
#include "results/render/common_traits.h"
#include "results/render/text_table.h"
#include "results/study/skip_reasons.h"

namespace sparkbench {

struct Judgement {
  /// A part of the preset.
  struct Part {
    std::string name;
    int right = 0, tried = 0;
  };
  /// The element that is furthest off, if outputs were compared.
  struct Element {
    std::string output;
    std::vector<std::int64_t> index;
    double got = 0, exact = 0;
  };
  struct WrongCase {
    std::string id, code, message, repro;
    std::optional<Element> worst;
  };
  /// Over the correct cases.
  struct Error {
    std::optional<double> rel_l1, mean_over_unfused, most_over_unfused;
  };
  struct Bits {
    int compared = 0;                   // cases that ran twice
    std::map<std::string, int> differ;  // and those whose second run has other bits, by output
    std::int64_t checked_launches = 0;  // timed ones, whose outputs were compared
  };
  struct Rival {
    std::string kernel;
    double time_ms = 0;
  };
  struct Speed {
    std::string pass, dtype, layout, mask;
    int head_dim = 0, seqlen = 0;
    double time_ms = 0;
    std::optional<double> tflops;
    std::uint64_t memory_bytes = 0;
    std::vector<Rival> beside;  // the fastest three others that are right, the fastest first
  };

  std::string kernel;
  int ok = 0, incorrect = 0, failed = 0;
  std::vector<Part> parts;
  std::vector<CommonTrait> traits;          // of the wrong cases
  std::optional<WrongCase> smallest_wrong;  // with the least work
  Error error;
  Bits bits;
  std::vector<SkipReason> skipped;
  std::vector<Speed> speeds;

  int tried() const { return ok + incorrect + failed; }
  /// "right", "wrong" or "not judged"
  std::string verdict() const;
};

/// Whether the case is of the preset's part that compares times, not of one that verifies.
bool compares_times(const CaseRecord& record);

/// Cases of the run's other kernels are what its times are compared with.
Judgement judgement_of(const RunRecord& run, const std::string& kernel);

/// "right in all of 134 cases"
std::string verdict_text(const Judgement& judgement);
/// A name and a text for each thing that is known, in order; no speeds.
std::vector<Fact> facts_of(const Judgement& judgement);

/// For a terminal.
std::string format_judgement(const RunRecord& run, const std::string& kernel,
                             const TableView& view);
/// As JSON: {"schema", "run", "device", "kernels": [...]}.
std::string judgement_json(const RunRecord& run, const std::vector<std::string>& kernels);
/// As one page for a browser, in a single file and without scripts. Text from outside is inert.
std::string judgement_page(const RunRecord& run, const std::vector<std::string>& kernels);

}  // namespace sparkbench
