// The fields of a case and its parts: the larger half of the table in record_fields.h.
#pragma once

#include <concepts>
#include <type_traits>

#include "reference/encoder/layer_shape.h"
#include "results/record/case_record.h"
#include "sweeps/axes.h"

namespace sparkbench {

/// `R` is `Record`, const or not.
template <class R, class Record>
concept AnyConst = std::same_as<std::remove_const_t<R>, Record>;

void visit_fields(AnyConst<Reason> auto& r, auto&& visit) {
  visit("code", r.code);
  visit("message", r.message);
}

void visit_fields(AnyConst<Warning> auto& w, auto&& visit) {
  visit("code", w.code);
  visit("message", w.message);
  visit("value", w.value);
}

/// A record's field for an axis (sweeps/axes.h). `P` is CaseProblem, const or not.
template <class P>
struct AxisField {
  const Axis& axis;
  P& problem;

  AxisValue value() const { return axis.access.get(problem); }
  /// Throws std::invalid_argument for a text that is not a value of the axis.
  void assign(const AxisValue& value) { axis.access.set(problem, value); }
};
template <class P>
AxisField(const Axis& axis, P& problem) -> AxisField<P>;

template <class T>
struct IsAxisField : std::false_type {};
template <class P>
struct IsAxisField<AxisField<P>> : std::true_type {};

/// `causal` is the mask as a boolean; records from before other masks existed have only this field.
void visit_causal(AnyConst<CaseProblem> auto& p, auto&& visit) {
  bool causal = p.mask == MaskSpec::causal();
  visit("causal", causal);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(p)>>) {
    p.mask = MaskSpec::causal_if(causal);
  }
}

void visit_fields(AnyConst<LayerShape> auto& l, auto&& visit) {
  visit("hidden", l.hidden);
  visit("ffn", l.ffn);
  visit("activation", l.activation);
  visit("norm", l.norm);
  visit("bias", l.bias);
  visit("rest", l.rest);
}

/// The requested values first, then the values that follow from them.
void visit_fields(AnyConst<CaseProblem> auto& p, auto&& visit) {
  for (const Axis* axis : recorded_axes()) {
    if (axis->is_of_case) continue;
    if (axis == &find_axis("mask")) visit_causal(p, visit);
    AxisField field{*axis, p};
    visit(axis->name, field);
  }
  float dropout_p_applied = p.applied_dropout_p(), scale = p.scale();
  visit("dropout_p_applied", dropout_p_applied);
  visit("scale", scale);
  visit("seed", p.seed);
  visit("total_q", p.total_q);
  visit("total_k", p.total_k);
  visit("lengths_hash", p.lengths_hash);
  visit("zones_hash", p.zones_hash);
  visit("layer", p.layer);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(p)>>) {
    p.own_dropout_p = dropout_p_applied;
    p.softmax_scale = scale;
  }
}

void visit_fields(AnyConst<TimeMs> auto& t, auto&& visit) {
  visit("median", t.median);
  visit("mean", t.mean);
  visit("min", t.min);
  visit("max", t.max);
  visit("stdev", t.stdev);
  visit("q1", t.q1);
  visit("q3", t.q3);
  visit("samples", t.samples);
}

void visit_fields(AnyConst<Sampling> auto& s, auto&& visit) {
  visit("count", s.count);
  visit("stop_reason", s.stop_reason);
  visit("median_error", s.median_error);
  visit("flagged", s.flagged);
  visit("held", s.held);
  visit("checked", s.checked);
}

void visit_fields(AnyConst<ClockMhz> auto& c, auto&& visit) {
  visit("median", c.median);
  visit("min", c.min);
  visit("max", c.max);
  visit("samples", c.samples);
}

void visit_fields(AnyConst<MemoryBytes> auto& m, auto&& visit) {
  visit("io", m.io);
  visit("workspace", m.workspace);
  visit("peak", m.peak);
  visit("predicted", m.predicted);
  visit("unfused", m.unfused);
}

void visit_fields(AnyConst<Accuracy> auto& a, auto&& visit) {
  visit("output", a.output);
  visit("oracle", a.oracle);
  visit("checked_elements", a.checked_elements);
  visit("max_abs", a.max_abs);
  visit("mean_abs", a.mean_abs);
  visit("rmse", a.rmse);
  visit("rel_l1", a.rel_l1);
  visit("rel_l2", a.rel_l2);
  visit("mean_rel", a.mean_rel);
  visit("max_rel", a.max_rel);
  visit("rel_floor", a.rel_floor);
  visit("cosine_diff", a.cosine_diff);
  visit("mismatches", a.mismatches);
  visit("nonfinite", a.nonfinite);
  visit("worst_index", a.worst_index);
  visit("worst_got", a.worst_got);
  visit("worst_want", a.worst_want);
  visit("error_ratio", a.error_ratio);
  visit("error_over_unfused", a.error_over_unfused);
  visit("lse_max_abs", a.lse_max_abs);
  visit("dropout_kept_fraction", a.dropout_kept_fraction);
  visit("mask_hash", a.mask_hash);
  visit("bitwise_repeatable", a.bitwise_repeatable);
  visit("output_hash", a.output_hash);
  visit("checked_rows", a.checked_rows);
  visit("weighted", a.weighted);
  visit("worst_row_rel_l1", a.worst_row_rel_l1);
  visit("worst_row", a.worst_row);
}

void visit_fields(AnyConst<GradientAccuracy> auto& g, auto&& visit) {
  visit("dq", g.dq);
  visit("dk", g.dk);
  visit("dv", g.dv);
  visit("o", g.o);
}

void visit_fields(AnyConst<Emulation> auto& e, auto&& visit) {
  visit("host_seconds", e.host_seconds);
  visit("tiles_run", e.tiles_run);
  visit("tiles_total", e.tiles_total);
  visit("mma", e.mma);
  visit("mma_fp16acc", e.mma_fp16acc);
  visit("mufu", e.mufu);
  visit("half_conversions", e.half_conversions);
  visit("half_widenings", e.half_widenings);
  visit("fma", e.fma);
  visit("shuffles", e.shuffles);
  visit("barriers", e.barriers);
  visit("shared_loads", e.shared_loads);
  visit("shared_stores", e.shared_stores);
  visit("shared_wavefronts", e.shared_wavefronts);
  visit("bank_conflicts", e.bank_conflicts);
  visit("global_loads", e.global_loads);
  visit("global_stores", e.global_stores);
  visit("global_atomics", e.global_atomics);
  visit("global_wavefronts", e.global_wavefronts);
  visit("global_sectors_read", e.global_sectors_read);
  visit("global_sectors_written", e.global_sectors_written);
  visit("global_sectors_added", e.global_sectors_added);
  visit("races", e.races);
  visit("findings", e.findings);
}

void visit_fields(AnyConst<Speedup> auto& s, auto&& visit) {
  visit("over", s.over);
  visit("ratio", s.ratio);
  visit("ratio_stdev", s.ratio_stdev);
  visit("over_median_ms", s.over_median_ms);
  visit("interleaved", s.interleaved);
}

void visit_fields(AnyConst<TimeBand> auto& t, auto&& visit) {
  visit("low", t.low);
  visit("likely", t.likely);
  visit("high", t.high);
}

void visit_fields(AnyConst<PredictedSpeedup> auto& s, auto&& visit) {
  visit("over", s.over);
  visit("low", s.low);
  visit("likely", s.likely);
  visit("high", s.high);
}

void visit_fields(AnyConst<SoftwareFactor> auto& s, auto&& visit) {
  visit("name", s.name);
  visit("factor", s.factor);
}

void visit_fields(AnyConst<Prediction> auto& p, auto&& visit) {
  visit("chip", p.chip);
  visit("basis", p.basis);
  visit("time_ms", p.time_ms);
  visit("tflops", p.tflops);
  visit("clock_mhz", p.clock_mhz);
  visit("low_clock_mhz", p.low_clock_mhz);
  visit("binding", p.binding);
  visit("speedup", p.speedup);
  visit("software", p.software);
}

void visit_fields(AnyConst<DeviceState> auto& d, auto&& visit) {
  visit("temperature_c", d.temperature_c);
  visit("power_draw_w", d.power_draw_w);
  visit("throttle_reasons", d.throttle_reasons);
}

void visit_fields(AnyConst<Provenance> auto& p, auto&& visit) {
  visit("run_id", p.run_id);
  visit("version", p.version);
  visit("git_sha", p.git_sha);
  visit("git_dirty", p.git_dirty);
  visit("device_name", p.device_name);
  visit("device_kind", p.device_kind);
  visit("device_uuid", p.device_uuid);
  visit("driver_version", p.driver_version);
}

void visit_fields(AnyConst<PassPart> auto& p, auto&& visit) {
  visit("name", p.name);
  visit("ms", p.ms);
  visit("bytes", p.bytes);
  visit("flops", p.flops);
  visit("copy_fraction", p.copy_fraction);
  visit("peak_fraction", p.peak_fraction);
}

void visit_fields(AnyConst<PassParts> auto& p, auto&& visit) {
  visit("passes", p.passes);
  visit("copy_gbps", p.copy_gbps);
  visit("of", p.of);
}

void visit_fields(AnyConst<MaskWork> auto& m, auto&& visit) {
  visit("pairs_visible", m.pairs_visible);
  visit("density", m.density);
  visit("pairs_executed", m.pairs_executed);
  visit("partial_share", m.partial_share);
  visit("analysis_us", m.analysis_us);
  visit("metadata_bytes", m.metadata_bytes);
  visit("why_no_plan", m.why_no_plan);
  visit("jit_first_call_ms", m.jit_first_call_ms);
  visit("jit_code_from", m.jit_code_from);
  visit("why_no_jit", m.why_no_jit);
}

void visit_fields(AnyConst<StageOutcome> auto& s, auto&& visit) {
  visit("name", s.name);
  visit("flops", s.flops);
  visit("bytes", s.bytes);
  visit("launches", s.launches);
  visit("predicted_ms", s.predicted_ms);
  visit("time_ms", s.time_ms);
}

void visit_fields(AnyConst<LayerError> auto& e, auto&& visit) {
  visit("of", e.of);
  visit("checked_elements", e.checked_elements);
  visit("rel_l2", e.rel_l2);
  visit("max_abs", e.max_abs);
  visit("over_unfused", e.over_unfused);
}

void visit_fields(AnyConst<LayerOutcome> auto& l, auto&& visit) {
  visit("launches", l.launches);
  visit("weight_bytes", l.weight_bytes);
  visit("peak_bytes", l.peak_bytes);
  visit("attention_share", l.attention_share);
  visit("gap_ms", l.gap_ms);
  visit("graph_ms", l.graph_ms);
  visit("stages", l.stages);
  visit("errors", l.errors);
}

void visit_fields(AnyConst<CaseRecord> auto& c, auto&& visit) {
  visit("id", c.id);
  visit("config_hash", c.config_hash);
  visit("kernel", c.kernel);
  visit("role", c.role);
  visit("accumulator", c.accumulator);
  visit("problem", c.problem);
  visit("status", c.status);
  visit("reason", c.reason);
  visit("valid", c.valid);
  visit("warnings", c.warnings);
  visit("time_ms", c.time_ms);
  visit("noise", c.noise);
  visit("sampling", c.sampling);
  visit("clock_mhz", c.clock_mhz);
  visit("flops", c.flops);
  visit("bytes", c.bytes);
  visit("tflops", c.tflops);
  visit("gbps", c.gbps);
  visit("peak_fraction", c.peak_fraction);
  visit("bandwidth_fraction", c.bandwidth_fraction);
  visit("memory_bytes", c.memory_bytes);
  visit("accuracy", c.accuracy);
  visit("accuracy", c.gradient_accuracy);
  visit("emulation", c.emulation);
  visit("speedup", c.speedup);
  visit("repro", c.repro);
  visit("device", c.device);
  visit("position", c.position);
  visit("elapsed_s", c.elapsed_s);
  visit("libraries", c.libraries);
  visit("device_state", c.device_state);
  visit("provenance", c.provenance);
  visit("parts", c.parts);
  visit("predicted", c.predicted);
  visit("predicted_reason", c.predicted_reason);
  visit("mask_work", c.mask_work);
  visit("layer", c.layer);
  for (const Axis* axis : recorded_axes()) {
    if (!axis->is_of_case) continue;
    AxisField field{*axis, c.problem};
    visit(axis->name, field);
  }
  visit("model", c.problem.model);
}

}  // namespace sparkbench
