#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace heddle::store {

using OpenStore = std::function<std::unique_ptr<Store>(const StoreSetup& setup)>;

/// The names of all stores, also of those that this build lacks.
[[nodiscard]] std::vector<std::string> store_names();

/// Whether a store is a shared module. The others are part of the program, and accept any option.
[[nodiscard]] bool is_module(const std::string& name);

/// The stores that have an option of their own; empty: no store has it, or all have.
[[nodiscard]] std::vector<std::string> stores_with(std::string_view option);

/// Returns the function that opens a store. A store is a shared module next to the engine's own
/// library, which is loaded here: the engine links none of their libraries.
/// @throws std::invalid_argument if there is no such store, or if it is not built: the message
///         names the package that it needs
[[nodiscard]] OpenStore find_store(const std::string& name);

/// Refuses a setup that a store can't open. The tables need not be known.
/// @throws std::invalid_argument naming what is wrong and the cure; also as find_store()
void check_store(const std::string& name, const StoreSetup& setup);

/// Ends what the stores that were used keep between runs, such as a server. Before a process exits
/// without calling destructors.
void close_stores();

/// Adds a store that is part of the program, or replaces it. Before any run.
void add_store(const std::string& name, OpenStore open);

}  // namespace heddle::store
