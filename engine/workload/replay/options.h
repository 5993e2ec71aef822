#pragma once

#include <cstdint>
#include <memory>

#include "workload/options.h"
#include "workload/replay/program.h"
#include "workload/replay/program_option.h"

namespace heddle {

/// The options of the workload that replays a trace.
struct ReplayOptions {
  std::shared_ptr<const replay::Program> program;
  /// A scan visits so many rows at most: a trace has the first of its range only.
  std::uint32_t scan_length = 10;

  static constexpr std::uint32_t kLongestScan = 1'000'000;

  /// Opens the program, and reads all of it.
  static ReplayOptions parse(const OptionMap& map) {
    OptionReader reader("replay", map);
    ReplayOptions options;
    options.program = replay::program_option(reader, map);
    options.scan_length = static_cast<std::uint32_t>(
        reader.integer("scan_length", options.scan_length, 1, kLongestScan));
    reader.finish();
    return options;
  }
};

}  // namespace heddle
