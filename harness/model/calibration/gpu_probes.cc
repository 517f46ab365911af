#include "harness/model/calibration/calibration.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>

#include "harness/model/calibration/probe_kernels.h"
#include "kernels/machine/cuda_resources.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

constexpr int kRepeats = 11;
constexpr int kProductIterations = 256;  // about half a million cycles
constexpr int kCodeInstructions = 1 << 20;

Spread spread_of(const std::vector<double>& samples) {
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  return {median_of(samples), *least, *most};
}

/// fp16 pairs near 1: products of 128 of them stay finite in FP32.
std::vector<std::uint32_t> probe_values() {
  std::vector<std::uint32_t> values;
  for (std::uint32_t i = 0; i < kProbeValues; ++i) values.push_back(0x3c003a00u + 0x00050003u * i);
  return values;
}

const char* product_of(int sm) { return sm >= 80 ? "m16n8k16" : sm >= 75 ? "m16n8k8" : "m8n8k4"; }

class ProbeBench {
 public:
  explicit ProbeBench(int sm_count)
      : blocks_(sm_count),
        values_(kProbeValues * sizeof(std::uint32_t)),
        spans_(most_warps() * sizeof(ProbeSpan)),
        sink_(32 * most_warps() * sizeof(std::uint32_t)) {
    const std::vector<std::uint32_t> values = probe_values();
    CUDA_CHECK(
        cudaMemcpy(values_.as<void>(), values.data(), values_.bytes(), cudaMemcpyHostToDevice));
  }

  /// Cycles of an SM's warps from the first one's begin to the last one's end, of each repeat the
  /// median over the SMs. The first repeat, whose code is not in the L2 cache, does not count.
  template <class Enqueue>
  std::vector<double> cycles(int warps_per_scheduler, int iterations, Enqueue enqueue) {
    const ProbeLaunch launch{blocks_,
                             warps_per_scheduler,
                             iterations,
                             spans_.as<ProbeSpan>(),
                             values_.as<std::uint32_t>(),
                             sink_.as<std::uint32_t>()};
    std::vector<double> samples;
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {
      enqueue(stream_.get(), launch);
      stream_.synchronize();
      const double sample = read_cycles(kSchedulersPerSm * warps_per_scheduler);
      if (repeat > 0) samples.push_back(sample);
    }
    return samples;
  }

  double clock_mhz() const { return median_of(clocks_mhz_); }

 private:
  std::size_t most_warps() const {
    return static_cast<std::size_t>(blocks_) * 2 * kSchedulersPerSm;
  }

  double read_cycles(int warps) {
    std::vector<ProbeSpan> spans(static_cast<std::size_t>(blocks_) * warps);
    CUDA_CHECK(cudaMemcpy(spans.data(), spans_.as<void>(), spans.size() * sizeof(ProbeSpan),
                          cudaMemcpyDeviceToHost));
    std::map<std::uint32_t, int> blocks_of_sm;
    for (std::size_t i = 0; i < spans.size(); i += warps) ++blocks_of_sm[spans[i].sm];
    std::vector<double> of_blocks;
    for (auto first = spans.begin(); first != spans.end(); first += warps) {
      if (blocks_of_sm[first->sm] == 1) of_blocks.push_back(cycles_of_block(first, first + warps));
    }
    if (2 * static_cast<int>(of_blocks.size()) < blocks_) {
      throw std::runtime_error(
          "predict --calibrate: the GPU's SMs are not free: end what else runs "
          "on it");
    }
    return median_of(of_blocks);
  }

  template <class Spans>
  double cycles_of_block(Spans first, Spans last) {
    ProbeSpan all = *first;
    for (; first != last; ++first) {
      all.begin_cycles = std::min(all.begin_cycles, first->begin_cycles);
      all.end_cycles = std::max(all.end_cycles, first->end_cycles);
      all.begin_ns = std::min(all.begin_ns, first->begin_ns);
      all.end_ns = std::max(all.end_ns, first->end_ns);
    }
    const auto cycles = static_cast<double>(all.end_cycles - all.begin_cycles);
    clocks_mhz_.push_back(1e3 * cycles / static_cast<double>(all.end_ns - all.begin_ns));
    return cycles;
  }

  int blocks_;
  CudaStream stream_;
  DeviceBuffer values_, spans_, sink_;
  std::vector<double> clocks_mhz_;
};

/// x -> scale / x
std::vector<double> inverse(std::vector<double> values, double scale) {
  for (double& value : values) value = scale / value;
  return values;
}

ProductReading read_products(ProbeBench& bench, bool is_fresh, int warps) {
  const ProbeOperands operands = is_fresh ? ProbeOperands::kFresh : ProbeOperands::kReused;
  std::vector<double> cycles =
      bench.cycles(warps, kProductIterations, [&](cudaStream_t stream, const ProbeLaunch& launch) {
        enqueue_product_probe(stream, operands, launch);
      });
  for (double& value : cycles) value /= 1.0 * warps * kProductIterations * kProbeProducts;
  return {is_fresh, warps, spread_of(cycles)};
}

CodeReading read_code(ProbeBench& bench, CodeSharing sharing, int size) {
  const int warps = sharing == CodeSharing::kOneWarp ? 1 : 2;
  const bool is_own = sharing == CodeSharing::kTwoWarpsOwnCode;
  const int loop_bytes = 1024 * kCodeKib[size];
  const int loop_instructions = loop_bytes / kProbeInstructionBytes;
  const int iterations = kCodeInstructions / loop_instructions;
  const std::vector<double> cycles =
      bench.cycles(warps, iterations, [&](cudaStream_t stream, const ProbeLaunch& launch) {
        enqueue_code_probe(stream, size, is_own, launch);
      });
  return {sharing, is_own ? 2 * loop_bytes : loop_bytes,
          spread_of(inverse(cycles, 1.0 * warps * iterations * loop_instructions))};
}

}  // namespace

CalibrationReadings read_probes(int sm, int sm_count) {
  ProbeBench bench(sm_count);
  CalibrationReadings readings;
  readings.product = product_of(sm);
  readings.repeats = kRepeats;
  for (const int warps : {1, 2}) {
    for (const bool is_fresh : {false, true}) {
      readings.products.push_back(read_products(bench, is_fresh, warps));
    }
  }
  for (int sharing = 0; sharing < kCodeSharings; ++sharing) {
    for (int size = 0; size < static_cast<int>(std::size(kCodeKib)); ++size) {
      readings.code.push_back(read_code(bench, static_cast<CodeSharing>(sharing), size));
    }
  }
  readings.clock_mhz = bench.clock_mhz();
  return readings;
}

}  // namespace sparkbench
