#include "harness/run/case_runner.h"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "harness/plan/case_start.h"
#include "kernels/machine/out_of_device_memory.h"
#include "kernels/unsupported_error.h"
#include "results/record/record_fields.h"

namespace sparkbench {

CaseRunner::CaseRunner(Device& device, RunSettings settings)
    : device_(device), settings_(std::move(settings)), workloads_(device, settings_) {}

CaseRecord CaseRunner::begin(const SweepCase& sweep_case) const {
  return start_record(sweep_case, workloads_.of(sweep_case.problem), device_, settings_);
}

CaseRecord CaseRunner::finish(CaseRecord record) {
  const auto start = std::chrono::steady_clock::now();
  outputs_.reset();
  if (!is_attempted(record)) return record;
  try {
    if (settings_.before_case) settings_.before_case(record.id);
    run(record);
  } catch (const UnsupportedError& error) {
    record.status = Status::kSkipped;
    record.reason = Reason{"E-UNSUPPORTED", error.what()};
  } catch (const OutOfDeviceMemory& error) {
    fail({"E-OUT-OF-MEMORY", error.what()}, record);
  } catch (const std::bad_alloc&) {
    fail({"E-OUT-OF-MEMORY", "this machine's memory is too small for the case"}, record);
  } catch (const std::exception& error) {
    fail({"E-RUN", error.what()}, record);
  }
  record.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

void CaseRunner::run(CaseRecord& record) {
  const Candidate& candidate = find_candidate(device_, record.kernel);
  const bool has_other_mask = settings_.is_verified && candidate.draws_own_dropout_mask() &&
                              record.problem.dropout().threshold != 0;
  if (has_other_mask) {
    judge_without_dropout(record);
    if (record.status != Status::kOk) return;
  }
  CaseWorkload& workload = workloads_.of(record.problem);
  workload.run(candidate, settings_.is_verified && !has_other_mask, record);
  outputs_ = workload.take_outputs();
}

void CaseRunner::fail(Reason reason, CaseRecord& record) {
  record.status = Status::kFailed;
  record.reason = std::move(reason);
  workloads_.of(record.problem).forget();
}

void CaseRunner::judge_without_dropout(CaseRecord& record) {
  RunSettings settings = settings_;
  leave_untimed(settings.method);
  settings.keeps_outputs = false;
  settings.before_case = {};
  SweepCase without_dropout{record.kernel, record.problem};
  without_dropout.problem.dropout_p = 0.0f;
  CaseRecord judged = CaseRunner(device_, std::move(settings)).run(without_dropout);
  record.status = judged.status;
  record.reason = std::move(judged.reason);
  workloads_.of(record.problem).take_errors(judged, record);
  for (Warning& warning : judged.warnings) {
    if (find_warning(record, warning.code) == nullptr)
      record.warnings.push_back(std::move(warning));
  }
  record.warnings.push_back({"W-OWN-DROPOUT-MASK",
                             "the kernel draws a dropout mask of its own: its errors are those of "
                             "the same problem without dropout",
                             std::nullopt});
}

}  // namespace sparkbench
