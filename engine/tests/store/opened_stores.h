#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/options.h"
#include "store/map_store.h"
#include "store/private_folder.h"
#include "store/store.h"
#include "store/stores.h"

namespace heddle::store::test {

/// The stores that the tests of all stores run on, by names that tests may have.
///
/// SQLite maps a file that all connections share, and synchronises by locks on it, which the thread
/// sanitizer does not see. It does not see either what libpq, RocksDB and libmariadb do.
inline std::vector<std::string> tested_stores() {
#if defined(__SANITIZE_THREAD__)
  return {"map"};
#else
  return {"map", "sqlite", "postgresql", "rocksdb", "rocksdb_locking", "mariadb"};
#endif
}

/// Those of them that are libraries, and have their database in the run's folder.
inline std::vector<std::string> embedded_stores() {
  return {"sqlite", "rocksdb", "rocksdb_locking"};
}

/// The value of store= for a tested store.
inline std::string store_of(const std::string& tested) {
  return tested.substr(0, tested.find('_'));
}

inline Conflicts conflicts_of(const std::string& tested) {
  return tested.ends_with("_locking") ? Conflicts::locking : Conflicts::optimistic;
}

/// The options of `external` for a tested store.
inline OptionMap options_of(const std::string& tested) {
  OptionMap options{{"store", store_of(tested)}};
  if (conflicts_of(tested) == Conflicts::locking) options["conflicts"] = "locking";
  return options;
}

/// Why a store can't be used here, because a package is missing; nothing: it can.
inline std::optional<std::string> why_missing(const std::string& name) {
  try {
    const OpenStore open = find_store(name);
    if (name != "postgresql" && name != "mariadb") return {};
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

/// Makes the stores of map_store.h known: `map`, and `outside` with the seeded fault. What begins
/// with `together_` reads the rows together that hints name.
inline void add_test_stores() {
  const auto open_map = [](const StoreSetup& setup) { return std::make_unique<MapStore>(setup); };
  add_store("map", open_map);
  add_store("outside", [open_map](const StoreSetup& setup) {
    return std::make_unique<Wrapped<ReadsOutside>>(open_map(setup));
  });
  add_store("together_map", [open_map](const StoreSetup& setup) {
    return std::make_unique<Wrapped<ReadsTogether<Forwarding>>>(open_map(setup));
  });
  add_store("together_outside", [open_map](const StoreSetup& setup) {
    return std::make_unique<Wrapped<ReadsTogether<ReadsOutside>>>(open_map(setup));
  });
}

}  // namespace heddle::store::test
