#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model/options.h"
#include "workload/replay/program.h"

namespace heddle::replay {

/// Opens the program that the option `program` names, and reads all of it. Throws
/// std::invalid_argument.
inline std::shared_ptr<const Program> program_option(OptionReader& reader, const OptionMap& map) {
  const auto given = map.find("program");
  const std::string path = given == map.end() ? "" : given->second;
  if (path.empty()) reader.reject("program", path, "the path of a replay program, always");
  return std::make_shared<const Program>(reader.choice("program", path, {std::string_view(path)}));
}

}  // namespace heddle::replay
