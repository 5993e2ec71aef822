#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "store/map_store.h"
#include "store/private_folder.h"
#include "store/store.h"
#include "store/stores.h"

namespace heddle::store::test {

/// Why a store can't be used here, because a package is missing; nothing: it can.
inline std::optional<std::string> why_missing(const std::string& name) {
  try {
    const OpenStore open = find_store(name);
    if (name != "postgresql") return {};
    // Its server is a package of its own.
    const PrivateFolder folder("");
    const std::atomic<std::uint64_t> stop{0};
    (void)open({.folder = folder.path().string(), .durability = Durability::off, .stop = &stop});
    return {};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (text.find("apt-get install") != std::string::npos) return text;
    throw;
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
