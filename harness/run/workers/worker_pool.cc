#include "harness/run/workers/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "harness/cli/exit_code.h"
#include "harness/environment_error.h"
#include "results/record/case_id.h"
#include "results/record/comparability.h"
#include "results/record/provenance.h"
#include "results/store/json.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// How soon a deadline or an interruption is noticed.
constexpr int kPollMs = 50;

/// If the workers were not polled for so long, this process was stopped (Ctrl-Z) or the machine was
/// asleep, and so perhaps the cases: that time does not count.
constexpr auto kLongestLook = std::chrono::milliseconds(10 * kPollMs);

/// A worker that dies at its start is restarted, in case something killed it (for want of memory,
/// say), but only this often.
constexpr int kMostStarts = 4;

/// In one line, for a table and a log.
std::string with_errors(std::string text, std::string errors) {
  if (errors.empty()) return text;
  for (std::size_t at = 0; (at = errors.find('\n', at)) != std::string::npos; at += 3) {
    errors.replace(at, 1, " / ");
  }
  return text + ": " + errors;
}

/// Throws the error of the worker's plan.
[[noreturn]] void rethrow(const std::string& text) {
  int code = 0;
  std::from_chars(text.data(), text.data() + text.size(), code);
  const std::string why = text.substr(text.find('\n') + 1);
  if (code == static_cast<int>(ExitCode::kUsage)) throw UsageError(why);
  throw EnvironmentError(why);
}

void require_same_model(const RunRecord& first, const RunRecord& second) {
  for (const Difference& difference : find_differences(first, second)) {
    if (difference.of == kFile) continue;  // then it plans other cases
    throw UsageError(
        fmt::format("--device: the devices of one sweep are of one model; {} is '{}' and '{}': "
                    "sweep them apart, each with a --device of its own",
                    difference.field, difference.first, difference.second));
  }
}

/// Clears the fields of a single card: a sweep may use several.
void forget_one_card(DeviceInfo& device) {
  if (device.kind != DeviceKind::kGpu) return;
  device.uuid.reset();
  device.state.reset();
  std::map<std::string, std::string>& whys = device.why_unknown.emplace();
  whys["uuid"] = "several cards: the provenance of each case has its own";
  whys["state"] = "several cards: each case has its own, if it is timed";
}

bool has_same_cases(const RunRecord& first, const RunRecord& second) {
  return std::equal(first.cases.begin(), first.cases.end(), second.cases.begin(),
                    second.cases.end(), [](const CaseRecord& a, const CaseRecord& b) {
                      return a.config_hash == b.config_hash && a.libraries == b.libraries;
                    });
}

}  // namespace

WorkerPool::WorkerPool(WorkerPoolOptions options) : options_(std::move(options)) {
  for (const std::string& device : options_.devices) {
    lanes_.push_back({device});
    start(lanes_.back());
  }
  const auto is_starting = [](const Lane& lane) {
    return lane.worker != nullptr && !lane.is_ready;
  };
  while (std::any_of(lanes_.begin(), lanes_.end(), is_starting)) {
    wait();
    for (Lane& lane : lanes_) attend(lane, nullptr);
  }
  std::vector<std::string> names;
  for (const Lane& lane : lanes_) names.push_back(lane.device);
  plan_.run.resolved["device"] = fmt::format("{}", fmt::join(names, ","));
  if (lanes_.size() > 1) forget_one_card(plan_.environment.device);
}

void WorkerPool::start(Lane& lane) const {
  std::vector<std::string> argv = options_.argv;
  argv.insert(argv.end(), {"--worker", lane.device});
  lane.worker = nullptr;  // frees the old one's memory before the new one needs it
  lane.worker = std::make_unique<WorkerProcess>(options_.executable, argv);
  lane.is_ready = false;
  lane.case_in_flight.reset();
  lane.started = Clock::now();
}

void WorkerPool::run(const std::vector<std::size_t>& positions, CaseEvents& events) {
  std::string problem;
  for (const std::size_t position : positions) {
    const std::string key = make_problem_key(plan_.cases.at(position).problem);
    if (groups_.empty() || key != problem) groups_.emplace_back();
    groups_.back().push_back(position);
    problem = key;
  }
  while (!events.is_stopped()) {
    for (Lane& lane : lanes_) assign(lane, events);
    if (!is_waited_for()) return;
    wait();
    events.waited();
    for (Lane& lane : lanes_) attend(lane, &events);
  }
  for (Lane& lane : lanes_) lane.worker = nullptr;  // not even the case in flight
}

void WorkerPool::assign(Lane& lane, CaseEvents& events) {
  if (lane.worker == nullptr || !lane.is_ready || lane.case_in_flight) return;
  if (lane.group.empty() && !groups_.empty()) {
    lane.group = std::move(groups_.front());
    groups_.pop_front();
  }
  if (lane.group.empty()) return;
  lane.case_in_flight = lane.group.front();
  lane.group.pop_front();
  lane.started = Clock::now();
  events.began(plan_.cases[*lane.case_in_flight]);
  lane.worker->send_case(*lane.case_in_flight);  // a dead worker is noticed when it is read
}

/// Whether anything is in flight or left to do.
bool WorkerPool::is_waited_for() const {
  return !groups_.empty() || std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
    return lane.case_in_flight || !lane.group.empty();
  });
}

/// Waits until a worker sends something, or for a moment.
void WorkerPool::wait() {
  std::vector<pollfd> streams;
  for (const Lane& lane : lanes_) {
    if (lane.worker == nullptr) continue;
    streams.push_back({lane.worker->socket(), POLLIN, 0});
    streams.push_back({lane.worker->error_stream(), POLLIN, 0});
  }
  poll(streams.data(), streams.size(), kPollMs);
  const auto now = Clock::now();
  if (now - last_look_ > kLongestLook) {
    for (Lane& lane : lanes_) lane.started = std::min(now, lane.started + (now - last_look_));
  }
  last_look_ = now;
}

void WorkerPool::attend(Lane& lane, CaseEvents* events) {
  if (lane.worker == nullptr) return;
  lane.worker->read_errors();
  const bool is_alive = lane.worker->receive();
  const WorkerProcess* const attended = lane.worker.get();
  while (lane.worker.get() == attended) {
    const auto message = lane.worker->next_message();
    if (!message) break;
    take(lane, *message, events);
  }
  if (lane.worker.get() != attended) return;
  if (!is_alive) return mourn(lane, events);
  if (!lane.is_ready && seconds_since_start(lane) > start_limit_s()) {
    give_up(lane, fmt::format("it did not start within {} s", start_limit_s()));
  } else if (lane.case_in_flight && seconds_since_start(lane) > options_.timeout_s) {
    fail_case(lane,
              {"E-TIMEOUT",
               with_errors(fmt::format("took longer than --timeout {} s", options_.timeout_s),
                           lane.worker->take_errors())},
              *events);
  }
}

void WorkerPool::take(Lane& lane, const Message& message, CaseEvents* events) {
  if (message.kind == MessageKind::kPlan) return take_plan(lane, message.text);
  if (message.kind == MessageKind::kRecord) return take_record(lane, message.text, *events);
  if (plan_.cases.empty()) rethrow(message.text);
  give_up(lane, message.text.substr(message.text.find('\n') + 1));
}

void WorkerPool::take_plan(Lane& lane, const std::string& text) {
  RunRecord plan = run_from_json(text);
  lane.device = plan.run.resolved.at("device");  // the device that "auto" selected
  lane.provenance = provenance_of(plan);
  if (plan_.cases.empty()) {
    plan_ = std::move(plan);
  } else {
    require_same_model(plan_, plan);
    if (!has_same_cases(plan_, plan)) {
      return give_up(lane,
                     "it plans other cases than before: a file that the flags name (--kernel, "
                     "--lengths, --mask, --tensors) has changed");
    }
  }
  lane.is_ready = true;
  lane.dead_starts = 0;
}

void WorkerPool::take_record(Lane& lane, const std::string& text, CaseEvents& events) {
  CaseRecord record = case_from_json(text);
  lane.case_in_flight.reset();
  std::string printed = lane.worker->take_errors();
  const bool is_failed = record.status == Status::kFailed;
  if (is_failed) {
    record.reason->message = with_errors(record.reason->message, std::move(printed));
  } else if (!printed.empty()) {
    events.said(printed);
  }
  events.ended(std::move(record));
  if (is_failed) start(lane);  // its device's context may be unusable
}

/// Handles a worker that ended by itself.
void WorkerPool::mourn(Lane& lane, CaseEvents* events) {
  const std::string end = lane.worker->describe_end();
  const std::string text = with_errors("the worker " + end, lane.worker->take_errors());
  if (!lane.is_ready && ++lane.dead_starts < kMostStarts) return start(lane);
  if (!lane.is_ready) return give_up(lane, fmt::format("{}, {} times", text, kMostStarts));
  if (!lane.case_in_flight) return start(lane);
  const bool is_signal = end.starts_with("was killed");
  fail_case(lane, {is_signal ? "E-SIGNAL" : "E-EXIT", text}, *events);
}

void WorkerPool::fail_case(Lane& lane, Reason reason, CaseEvents& events) {
  CaseRecord record = plan_.cases[*lane.case_in_flight];
  record.status = Status::kFailed;
  record.reason = std::move(reason);
  record.device = lane.device;
  record.provenance = lane.provenance;
  record.elapsed_s = seconds_since_start(lane);
  events.ended(std::move(record));
  start(lane);
}

/// Leaves its remaining cases to the other workers. Throws EnvironmentError if there are none.
void WorkerPool::give_up(Lane& lane, const std::string& why) {
  lane.worker = nullptr;
  if (!lane.group.empty()) groups_.push_front(std::exchange(lane.group, {}));
  const bool is_last = std::all_of(lanes_.begin(), lanes_.end(),
                                   [](const Lane& each) { return each.worker == nullptr; });
  if (plan_.cases.empty() || is_last) {
    throw EnvironmentError(fmt::format("no worker for {}: {}", lane.device, why));
  }
}

double WorkerPool::start_limit_s() const {
  return options_.start_limit_s.value_or(default_start_limit_s(options_.timeout_s));
}

double default_start_limit_s(double timeout_s) { return std::clamp(timeout_s, 60.0, 300.0); }

double WorkerPool::seconds_since_start(const Lane& lane) const {
  return std::chrono::duration<double>(Clock::now() - lane.started).count();
}

}  // namespace sparkbench
