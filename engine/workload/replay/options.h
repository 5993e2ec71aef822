#pragma once

#include <cstdint>
#include <memory>

#include "model/options.h"
#include "workload/replay/arrivals.h"
#include "workload/replay/program.h"
#include "workload/replay/program_option.h"

namespace heddle {

/// The options of the workload that replays a trace.
struct ReplayOptions {
  std::shared_ptr<const replay::Program> program;
  /// A scan visits so many rows at most: a trace has the first of its range only.
  std::uint32_t scan_length = 10;

  /// Whether transactions arrive when they did in the trace, or as soon as a worker is free.
  bool recorded_arrivals = false;
  /// So many times as fast as they did.
  double speed = 1;

  static constexpr std::uint32_t kLongestScan = 1'000'000;
  static constexpr double kSlowest = 1e-3;
  static constexpr double kFastest = 1e9;

  /// Opens the program, and reads all of it.
  static ReplayOptions parse(const OptionMap& map) {
    OptionReader reader("replay", map);
    ReplayOptions options;
    options.program = replay::program_option(reader, map);
    options.scan_length = static_cast<std::uint32_t>(
        reader.integer("scan_length", options.scan_length, 1, kLongestScan));
    options.recorded_arrivals =
        reader.choice("arrivals", "closed", {"closed", "recorded"}) == "recorded";
    options.speed = reader.real("speed", options.speed, kSlowest, kFastest);
    reader.finish();
    if (!options.recorded_arrivals && map.contains("speed")) {
      reader.reject("speed", map.at("speed"),
                    "none, for a closed loop goes as fast as it can; add arrivals=recorded");
    }
    if (options.recorded_arrivals && !replay::Arrivals::has_rate(*options.program)) {
      reader.reject("arrivals", "recorded",
                    "closed, for all transactions of this part began at the same moment; or take "
                    "a longer part");
    }
    return options;
  }
};

}  // namespace heddle
