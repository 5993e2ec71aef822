#pragma once

#include <cstdint>
#include <memory>

#include "store/store.h"

namespace heddle::store {

/// What a store's shared module exports, as kModuleSymbol. A module is built with the engine, and
/// only that engine loads it.
struct Module {
  /// Opens an empty database.
  /// @throws std::runtime_error naming the folder and the cure
  using Open = std::unique_ptr<Store> (*)(const StoreSetup& setup);

  const char* version;  ///< of the engine that it was built with
  int interface;        ///< kInterface then
  Open open;
};

/// The number of the interface: to be raised when a class of connection.h or store.h changes.
inline constexpr int kInterface = 2;

/// A function without arguments that returns a `const Module*`.
inline constexpr const char* kModuleSymbol = "heddle_store_module";

}  // namespace heddle::store
