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

  /// Refuses a setup that can't be opened, before a run begins; the tables are not known yet.
  /// @throws std::invalid_argument naming what is wrong and the cure
  using Check = void (*)(const StoreSetup& setup);

  const char* version;  ///< of the engine that it was built with
  int interface;        ///< kInterface then
  Open open;
  Check check;  ///< nullptr: it opens all

  /// Ends what it keeps between runs. A process that exits without destructors must call it.
  using Close = void (*)();
  Close close;  ///< nullptr: it keeps nothing
};

/// The number of the interface: to be raised when a class of connection.h or store.h changes.
inline constexpr int kInterface = 6;

/// A function without arguments that returns a `const Module*`.
inline constexpr const char* kModuleSymbol = "heddle_store_module";

}  // namespace heddle::store
