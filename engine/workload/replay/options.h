#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "workload/options.h"
#include "workload/replay/program.h"

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
    const auto given = map.find("program");
    const std::string path = given == map.end() ? "" : given->second;
    if (path.empty()) reader.reject("program", path, "the path of a replay program, always");
    ReplayOptions options;
    options.program = std::make_shared<const replay::Program>(
        reader.choice("program", path, {std::string_view(path)}));
    options.scan_length = static_cast<std::uint32_t>(
        reader.integer("scan_length", options.scan_length, 1, kLongestScan));
    reader.finish();
    return options;
  }
};

}  // namespace heddle
