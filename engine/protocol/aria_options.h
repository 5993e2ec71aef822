#pragma once

#include "model/options.h"

namespace heddle {

/// The options of aria.
struct AriaOptions {
  bool reordering = true;
  int batch = 0;  ///< most new transactions of a batch, in all; 0: one per worker

  /// Declares each option and reads its value.
  void read(OptionReader& reader);

  /// @throws std::invalid_argument for an option or value that does not exist
  [[nodiscard]] static AriaOptions parse(const OptionMap& options);
};

}  // namespace heddle
