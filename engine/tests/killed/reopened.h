#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "killed/tally.h"

namespace heddle::killed {

/// The rows of the workload `tally` in a database.
struct Found {
  std::map<std::uint64_t, std::uint64_t> counters = {};
  std::vector<Entry> entries = {};
  std::vector<std::string> damage = {};  ///< rows that are not as they were written
};

/// The folder of the database of a run, among those of a place; empty: there is none.
/// @param store a name of tested_stores()
[[nodiscard]] std::filesystem::path database_folder(const std::string& store,
                                                    const std::filesystem::path& place);

/// Opens the database that a killed run has left, as the store does after a crash, and reads it.
/// Its processes have ended.
/// @param folder database_folder()
/// @param server the command that its server has run by; nothing: it has none
/// @throws std::runtime_error if it can't be opened
[[nodiscard]] Found read_back(const std::string& store, const std::filesystem::path& folder,
                              const std::vector<std::string>& server);

}  // namespace heddle::killed
