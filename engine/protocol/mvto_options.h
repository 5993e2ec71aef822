#pragma once

#include "model/isolation.h"
#include "model/options.h"

namespace heddle {

/// The options of mvto.
struct MvtoOptions {
  Isolation isolation = Isolation::serializable;

  /// Declares each option and reads its value.
  void read(OptionReader& reader);

  /// @throws std::invalid_argument for an option or value that does not exist
  [[nodiscard]] static MvtoOptions parse(const OptionMap& options);
};

}  // namespace heddle
