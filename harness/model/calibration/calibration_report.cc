#include "harness/model/calibration/calibration.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "results/render/text_table.h"

namespace sparkbench {
namespace {

using CalibrationJson = nlohmann::ordered_json;

constexpr const char* kCalibrationSchema = "sparkbench.calibration 1.0.0";
constexpr const char* kJsonOfSharing[] = {"one_warp", "two_warps", "two_warps_own_code"};

std::string spread_text(const Spread& spread) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", spread.median, spread.min, spread.max);
}

std::string product_table(const CalibrationReadings& readings, const TableView& view) {
  std::vector<TextColumn> columns = {{fmt::format("operands of {}", readings.product), {}, false},
                                     {"warps a scheduler", {}},
                                     {"cycles a product", {}}};
  for (const ProductReading& reading : readings.products) {
    columns[0].cells.emplace_back(reading.has_fresh_operands ? "fresh" : "A reused");
    columns[1].cells.push_back(std::to_string(reading.warps_per_scheduler));
    columns[2].cells.push_back(spread_text(reading.cycles));
  }
  return format_columns(columns, view);
}

std::string code_table(const CalibrationReadings& readings, const TableView& view) {
  std::map<int, std::string> rates[kCodeSharings];
  std::map<int, int> sizes;
  for (const CodeReading& reading : readings.code) {
    sizes[reading.code_bytes] = 1;
    rates[static_cast<int>(reading.sharing)][reading.code_bytes] =
        spread_text(reading.instructions_per_clock);
  }
  std::vector<TextColumn> columns = {{"code of a scheduler", {}}};
  for (int i = 0; i < kCodeSharings; ++i) {
    columns.push_back({std::string(name_of(static_cast<CodeSharing>(i))), {}});
  }
  for (const auto& [bytes, unused] : sizes) {
    columns[0].cells.push_back(fmt::format("{} KB", bytes / 1024));
    for (int i = 0; i < kCodeSharings; ++i) {
      const auto found = rates[i].find(bytes);
      columns[1 + i].cells.push_back(found == rates[i].end() ? "-" : found->second);
    }
  }
  return format_columns(columns, view);
}

CalibrationJson json_of(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

template <class T>
CalibrationJson json_of(const std::optional<T>& value) {
  return value ? CalibrationJson(*value) : CalibrationJson(nullptr);
}

CalibrationJson json_of_device(const Environment& environment, double clock_mhz) {
  const DeviceInfo& device = environment.device;
  return {{"name", device.name},
          {"uuid", json_of(device.uuid)},
          {"sm", json_of(device.sm)},
          {"sm_count", json_of(device.sm_count)},
          {"sm_clock_mhz", clock_mhz},
          {"sm_clock_max_mhz", json_of(device.sm_clock_max_mhz)},
          {"driver_version", json_of(environment.driver_version)},
          {"cuda_driver", json_of(environment.cuda_driver)}};
}

CalibrationJson json_of_build(const BuildInfo& build) {
  return {{"version", build.version},
          {"git_sha", json_of(build.git_sha)},
          {"git_dirty", json_of(build.git_dirty)},
          {"cuda_toolkit", json_of(build.cuda_toolkit)},
          {"cuda_archs", build.cuda_archs}};
}

CalibrationJson json_of_readings(const CalibrationReadings& readings) {
  CalibrationJson products = CalibrationJson::array(), code = CalibrationJson::array();
  for (const ProductReading& reading : readings.products) {
    products.push_back({{"operands", reading.has_fresh_operands ? "fresh" : "reused"},
                        {"warps_per_scheduler", reading.warps_per_scheduler},
                        {"cycles", json_of(reading.cycles)}});
  }
  for (const CodeReading& reading : readings.code) {
    code.push_back({{"sharing", kJsonOfSharing[static_cast<int>(reading.sharing)]},
                    {"code_bytes", reading.code_bytes},
                    {"instructions_per_clock", json_of(reading.instructions_per_clock)}});
  }
  return {{"product", readings.product},
          {"repeats", readings.repeats},
          {"products", std::move(products)},
          {"code", std::move(code)}};
}

CalibrationJson json_of_findings(const CalibrationFindings& findings) {
  CalibrationJson supply = CalibrationJson::object();
  for (int i = 0; i < kCodeSharings; ++i) {
    const CodeSupply& of = findings.supply[i];
    supply[kJsonOfSharing[i]] = {{"is_limited", of.is_limited},
                                 {"full_rate_bytes", of.full_rate_bytes},
                                 {"bytes_per_clock", json_of(of.bytes_per_clock)}};
  }
  CalibrationJson fits = nullptr;
  if (findings.fits) fits = name_of(*findings.fits);
  return {{"hmma_noreuse_cycles",
           {{"one_warp", json_of(findings.no_reuse_cycles[0])},
            {"two_warps", json_of(findings.no_reuse_cycles[1])}}},
          {"instruction_supply", std::move(supply)},
          {"assumption", std::move(fits)},
          {"sentence", findings.sentence}};
}

}  // namespace

std::string format_calibration(const DeviceInfo& device, const CalibrationReadings& readings,
                               const CalibrationFindings& findings, const TableView& view) {
  const std::string head =
      fmt::format("{} (sm_{}) at {:.0f} MHz; medians of {}, with the least and the most\n\n",
                  device.name, device.sm.value_or(0), readings.clock_mhz, readings.repeats);
  return wrapped(head, view) + product_table(readings, view) +
         wrapped("\nInstructions a clock and scheduler, of straight-line code:\n", view) +
         code_table(readings, view) + wrapped("\n" + findings.sentence + "\n", view);
}

std::string calibration_to_json(const std::string& measured_at, const BuildInfo& build,
                                const Environment& environment, const CalibrationReadings& readings,
                                const CalibrationFindings& findings) {
  const CalibrationJson document = {{"schema", kCalibrationSchema},
                                    {"measured_at", measured_at},
                                    {"device", json_of_device(environment, readings.clock_mhz)},
                                    {"build", json_of_build(build)},
                                    {"findings", json_of_findings(findings)},
                                    {"readings", json_of_readings(readings)}};
  return document.dump(2, ' ', false, CalibrationJson::error_handler_t::replace) + "\n";
}

}  // namespace sparkbench
