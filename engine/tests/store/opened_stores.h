#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "store/map_store.h"
#include "store/stores.h"

namespace heddle::store::test {

/// Why this build can't use a store; nothing: it can.
inline std::optional<std::string> why_missing(const std::string& name) {
  try {
    (void)find_store(name);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Makes the stores of map_store.h known: `map`, and `outside` with the seeded fault.
inline void add_test_stores() {
  const auto open_map = [](const StoreSetup& setup) { return std::make_unique<MapStore>(setup); };
  add_store("map", open_map);
  add_store("outside", [open_map](const StoreSetup& setup) {
    return std::make_unique<Wrapped<ReadsOutside>>(open_map(setup));
  });
}

}  // namespace heddle::store::test
