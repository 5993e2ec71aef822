#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "model/options.h"
#include "workload/replay/arrivals.h"
#include "workload/replay/program.h"
#include "workload/replay/program_option.h"

namespace heddle {

namespace replay {

/// Of which accesses a transaction passes hints. A trace does not say which keys the application
/// knows before it begins.
enum class Hinted : std::uint8_t { none, writes, all };

}  // namespace replay

/// The options of the workload that replays a trace.
struct ReplayOptions {
  replay::ProgramOption file;
  std::shared_ptr<const replay::Program> program;  ///< the program in the file
  std::uint32_t scan_length = 10;
  bool recorded_arrivals = false;
  std::optional<double> speed = {};  ///< default: 1
  replay::Hinted hints = replay::Hinted::none;

  static constexpr std::uint32_t kLongestScan = 1'000'000;
  static constexpr double kSlowest = 1e-3;
  static constexpr double kFastest = 1e9;

  void read(OptionReader& reader) {
    file.read(reader);
    reader.choice("arrivals", recorded_arrivals, {{"closed", false}, {"recorded", true}},
                  "closed: a transaction starts when a worker is free; recorded: no earlier than "
                  "it did in the trace");
    reader.real("speed", speed, kSlowest, kFastest,
                "with arrivals=recorded, the pace: 2 is twice as fast as the trace; null: 1");
    reader.integer("scan_length", scan_length, 1, kLongestScan,
                   "most rows that a scan visits; a trace has only the first row of a scan");
    reader.choice("hints", hints,
                  {{"none", replay::Hinted::none},
                   {"writes", replay::Hinted::writes},
                   {"all", replay::Hinted::all}},
                  "keys that the application knows before a transaction begins, and by which it "
                  "may be scheduled: those of rows that it writes, of all rows, or none");
  }

  /// Opens the program, and reads all of it.
  static ReplayOptions parse(const OptionMap& map) {
    OptionReader reader("replay", map);
    auto options = read_options<ReplayOptions>(reader);
    options.program = options.file.open(reader);
    if (!options.recorded_arrivals && options.speed.has_value()) {
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
