// Runs cases in worker processes, one per device, each kept for as many cases as it survives. A
// case that crashes, hangs or breaks its device loses only its own record, and its worker is
// replaced.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/case_executor.h"
#include "harness/run/workers/worker_process.h"

namespace sparkbench {

struct WorkerPoolOptions {
  std::filesystem::path executable;
  std::vector<std::string> argv;     // this program's; a worker gets --worker DEVICE too
  std::vector<std::string> devices;  // one worker each
  double timeout_s = 0;              // per case
  std::optional<double> start_limit_s = std::nullopt;  // default_start_limit_s() of the timeout
};

/// Time limit for a worker to open its device and plan: --timeout, but at least a minute, because a
/// machine with many GPUs may take most of one, and at most five.
double default_start_limit_s(double timeout_s);

class WorkerPool : public CaseExecutor {
 public:
  /// Starts the workers. Throws their UsageError and EnvironmentError, as PlannedSweep does, and
  /// UsageError if the devices have different models.
  explicit WorkerPool(WorkerPoolOptions options);

  const RunRecord& plan() const override { return plan_; }

  /// The cases of one problem go to one worker, which then already has its inputs and its exact
  /// result. A case that does not come back is failed with E-SIGNAL, E-EXIT or E-TIMEOUT and the
  /// worker's last output.
  void run(const std::vector<std::size_t>& positions, CaseEvents& events) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Group = std::deque<std::size_t>;

  /// A device and its worker. `case_in_flight` is set while it runs a case; `is_ready` is false
  /// until its plan arrives.
  struct Lane {
    std::string device;
    std::unique_ptr<WorkerProcess> worker = nullptr;  // null: given up
    bool is_ready = false;
    int dead_starts = 0;  // since it was last ready
    std::optional<std::size_t> case_in_flight = std::nullopt;
    Clock::time_point started = {};
    std::optional<Provenance> provenance = std::nullopt;  // of its cases, once it is ready
    Group group = {};                                     // its next cases
  };

  void start(Lane& lane) const;
  void give_up(Lane& lane, const std::string& why);
  void assign(Lane& lane, CaseEvents& events);
  bool is_waited_for() const;
  void wait();
  void attend(Lane& lane, CaseEvents* events);
  void take(Lane& lane, const Message& message, CaseEvents* events);
  void take_plan(Lane& lane, const std::string& text);
  void take_record(Lane& lane, const std::string& text, CaseEvents& events);
  void mourn(Lane& lane, CaseEvents* events);
  void fail_case(Lane& lane, Reason reason, CaseEvents& events);
  double seconds_since_start(const Lane& lane) const;
  double start_limit_s() const;

  WorkerPoolOptions options_;
  RunRecord plan_;
  std::vector<Lane> lanes_;
  std::deque<Group> groups_;  // not yet assigned to a lane
  Clock::time_point last_look_ = Clock::now();
};

}  // namespace sparkbench
