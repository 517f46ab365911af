#include "results/run_folder.h"

#include <fmt/core.h>

#include <system_error>
#include <utility>

#include "results/csv.h"
#include "results/json.h"
#include "results/output_error.h"
#include "results/output_file.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void reject(const fs::path& path, std::string_view wrong) {
  throw OutputError(fmt::format("--out: '{}' {}; give another folder", path.string(), wrong));
}

fs::path make_empty_folder(fs::path path) {
  std::error_code error;
  if (path.empty()) reject(path, "is no name");
  if (fs::exists(path, error) && !fs::is_directory(path, error)) reject(path, "is not a folder");
  fs::create_directories(path, error);
  if (error) reject(path, fmt::format("cannot be made ({})", error.message()));
  const bool is_empty = fs::is_empty(path, error);
  if (error) reject(path, fmt::format("cannot be read ({})", error.message()));
  if (!is_empty) reject(path, "exists and is not empty");
  return path;
}

}  // namespace

RunFolder::RunFolder(fs::path path)
    : path_(make_empty_folder(std::move(path))), journal_(path_ / "cases.jsonl") {}

void RunFolder::write_derived(const RunRecord& run, std::string_view summary_markdown) const {
  write_file(path_ / "run.json", run_to_json(run));
  write_file(path_ / "cases.csv", cases_to_csv(run));
  write_file(path_ / "summary.md", summary_markdown);
}

}  // namespace sparkbench
