#pragma once

#include <memory>
#include <string>

#include "model/options.h"
#include "workload/replay/program.h"

namespace heddle::replay {

/// The option that names the file of a replay program.
struct ProgramOption {
  std::string path;

  void read(OptionReader& reader) {
    reader.text("program", path,
                "file that heddle trace replay wrote, instead of trace, day and hours");
  }

  /// Opens the program, and reads all of it. Throws std::invalid_argument.
  [[nodiscard]] std::shared_ptr<const Program> open(const OptionReader& reader) const {
    if (path.empty()) reader.reject("program", path, "the path of a replay program, always");
    return std::make_shared<const Program>(path);
  }
};

}  // namespace heddle::replay
