// A run's folder: cases.jsonl (the truth), and derived from it run.json, cases.csv, summary.md.
#pragma once

#include <filesystem>
#include <string_view>

#include "results/journal.h"
#include "results/run_record.h"

namespace sparkbench {

class RunFolder {
 public:
  /// Makes `path`, parents included. Throws OutputError when it exists and is not empty, is a file,
  /// or cannot be made.
  explicit RunFolder(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }

  /// Saves a case; a crash after it returns does not lose it.
  void append(const CaseRecord& record) { journal_.append(record); }

  /// Writes run.json, cases.csv and summary.md, each whole or not at all.
  void write_derived(const RunRecord& run, std::string_view summary_markdown) const;

 private:
  std::filesystem::path path_;
  Journal journal_;
};

}  // namespace sparkbench
