#include "harness/run/workers/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <charconv>
#include <csignal>
#include <exception>
#include <new>
#include <string_view>

#include "harness/environment_error.h"
#include "harness/run/workers/worker_process.h"
#include "results/store/json.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// The process that waits for this one decides when it ends: it does not outlive that process, and
/// signals typed at the terminal go to that process.
void belong_to_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
}

void refuse(ExitCode code, std::string_view why) {
  send_message(kWorkerSocket, MessageKind::kRefuse,
               fmt::format("{}\n{}", static_cast<int>(code), why));
}

/// Throws UsageError unless a parent started this process as its worker.
void require_parent() {
  struct stat status = {};
  if (fstat(kWorkerSocket, &status) == 0 && S_ISSOCK(status.st_mode)) return;
  throw UsageError("--worker: sparkbench starts its workers itself; leave it out");
}

std::optional<std::size_t> next_position(MessageReader& reader) {
  std::optional<Message> message;
  while (!(message = reader.next())) {
    if (!reader.read_from(kWorkerSocket, true)) return std::nullopt;
  }
  const std::string_view text = message->text;
  std::size_t position = 0;
  std::from_chars(text.data(), text.data() + text.size(), position);
  return position;
}

void serve(PlannedSweep& sweep) {
  if (!send_message(kWorkerSocket, MessageKind::kPlan, run_to_json(sweep.plan()))) return;
  MessageReader reader;
  while (const auto position = next_position(reader)) {
    const std::string record = case_to_json(sweep.run(*position));
    if (!send_message(kWorkerSocket, MessageKind::kRecord, record)) return;
  }
}

}  // namespace

ExitCode serve_cases(const SweepRequest& request) {
  require_parent();
  belong_to_parent();
  std::optional<PlannedSweep> sweep;
  try {
    sweep.emplace(request, request.options.worker_device);
  } catch (const UsageError& error) {
    refuse(ExitCode::kUsage, error.what());
  } catch (const std::bad_alloc&) {
    refuse(ExitCode::kEnvironment, "out of memory: this machine has too little for what was asked");
  } catch (const std::exception& error) {
    refuse(ExitCode::kEnvironment, error.what());
  }
  if (!sweep) return ExitCode::kEnvironment;
  serve(*sweep);
  return ExitCode::kOk;
}

}  // namespace sparkbench
