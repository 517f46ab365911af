// The fields of every record, in one table. JSON, CSV and their readers visit it and use its order.
// visit_fields(record, visit) calls visit(name, field) for each field. Fields with the same name
// are alternatives: at most one has a value.
#pragma once

#include <optional>
#include <vector>

#include "results/record/case_fields.h"
#include "results/record/run_record.h"

namespace sparkbench {

void visit_fields(AnyConst<SchemaVersion> auto& s, auto&& visit) {
  visit("name", s.name);
  visit("version", s.version);
}

void visit_fields(AnyConst<RunInfo> auto& r, auto&& visit) {
  visit("id", r.id);
  visit("started_at", r.started_at);
  visit("finished_at", r.finished_at);
  visit("argv", r.argv);
  visit("resolved", r.resolved);
  visit("tags", r.tags);
  visit("seed", r.seed);
  visit("complete", r.complete);
  visit("exit_code", r.exit_code);
  visit("resumed_from", r.resumed_from);
  visit("merged_from", r.merged_from);
}

void visit_fields(AnyConst<BuildInfo> auto& b, auto&& visit) {
  visit("version", b.version);
  visit("git_sha", b.git_sha);
  visit("git_dirty", b.git_dirty);
  visit("build_type", b.build_type);
  visit("cxx_compiler", b.cxx_compiler);
  visit("cuda_toolkit", b.cuda_toolkit);
  visit("cuda_archs", b.cuda_archs);
}

void visit_fields(AnyConst<DeviceInfo> auto& d, auto&& visit) {
  visit("name", d.name);
  visit("kind", d.kind);
  visit("arithmetic", d.arithmetic);
  visit("sm", d.sm);
  visit("sm_count", d.sm_count);
  visit("l2_bytes", d.l2_bytes);
  visit("memory_bytes", d.memory_bytes);
  visit("memory_available_bytes", d.memory_available_bytes);
  visit("sm_clock_max_mhz", d.sm_clock_max_mhz);
  visit("power_limit_w", d.power_limit_w);
  visit("peak_tflops", d.peak_tflops);
  visit("peak_gbps", d.peak_gbps);
  visit("peak_source", d.peak_source);
  visit("uuid", d.uuid);
  visit("ecc", d.ecc);
  visit("persistence_mode", d.persistence_mode);
  visit("state", d.state);
  visit("why_unknown", d.why_unknown);
}

void visit_fields(AnyConst<Environment> auto& e, auto&& visit) {
  visit("os", e.os);
  visit("cpu", e.cpu);
  visit("driver_version", e.driver_version);
  visit("cuda_driver", e.cuda_driver);
  visit("cuda_runtime", e.cuda_runtime);
  visit("cublas_version", e.cublas_version);
  visit("device", e.device);
}

/// How samples are taken.
void visit_timing_fields(AnyConst<Method> auto& m, auto&& visit) {
  visit("cache", m.cache);
  visit("flush_bytes", m.flush_bytes);
  visit("warmup_ms", m.warmup_ms);
  visit("min_samples", m.min_samples);
  visit("max_noise", m.max_noise);
  visit("min_seconds", m.min_seconds);
  visit("max_seconds", m.max_seconds);
  visit("held", m.held);
  visit("block_samples", m.block_samples);
  visit("duty_cycle", m.duty_cycle);
}

void visit_fields(AnyConst<Method> auto& m, auto&& visit) {
  visit_timing_fields(m, visit);
  visit("timeout_s", m.timeout_s);
  visit("statistic", m.statistic);
  visit("flop_convention", m.flop_convention);
  visit("input", m.input);
  visit("input_file", m.input_file);
  visit("input_hash", m.input_hash);
  visit("oracle", m.oracle);
  visit("tolerance_ratio", m.tolerance_ratio);
  visit("deterministic", m.deterministic);
}

/// Makes null what a run has that times nothing.
inline void leave_untimed(Method& method) {
  visit_timing_fields(method, [](const char* /*name*/, auto& field) { field.reset(); });
  method.statistic.reset();
}

void visit_fields(AnyConst<RunRecord> auto& r, auto&& visit) {
  visit("schema", r.schema);
  visit("run", r.run);
  visit("build", r.build);
  visit("environment", r.environment);
  visit("method", r.method);
  visit("cases", r.cases);
}

/// A struct with visit_fields().
template <class T>
concept Record = requires(T& record) {
  visit_fields(record, [](const char*, auto&) {});
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace sparkbench
