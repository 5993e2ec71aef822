#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "killed/reopened.h"

namespace heddle::killed {

/// What is killed or stopped.
enum class Victim : std::uint8_t {
  heddle,          ///< the process that runs the transactions
  server,          ///< the store's server
  session,         ///< a process of PostgreSQL's server
  both,            ///< Heddle and the server
  silent_server,   ///< it is stopped: its connections stay open, and nothing is answered
  silent_session,  ///< as above, one session of PostgreSQL's
};

/// A run that is killed while it commits transactions.
struct KilledRun {
  std::string store;  ///< a name of tested_stores()
  std::string durability = "full";
  std::size_t merge = 1;
  bool locks = false;  ///< locks=hints
  Victim victim = Victim::heddle;
  double watchdog_s = 60;  ///< RunOptions::watchdog_s
  double after_ms = 0;     ///< from its first commit that is counted

  [[nodiscard]] std::string describe() const;
};

/// What a killed run has left.
struct Remains {
  std::optional<std::string> missing = {};       ///< why the store can't be used here
  std::vector<std::uint64_t> acknowledged = {};  ///< the keys of what was counted as committed
  /// Nothing if only a session is silent: the run then drops its tables by another one.
  std::optional<Found> found = {};
  std::size_t in_flight = 0;  ///< the transactions that may have committed without being counted
  /// What a run whose store was killed has ended with: `failure` of its result, or its error.
  std::string failure = {};
  std::uint64_t commits = 0;       ///< of its result
  bool ended = false;              ///< whether it has ended by itself
  std::string server_folder = {};  ///< empty: there is no server
};

/// Starts a run in a process of its own, kills, and reads what is in the database then.
/// @throws std::runtime_error if the run ends early, or if its database can't be opened again
[[nodiscard]] Remains remains_of(const KilledRun& run);

/// Whether the run of a victim ends by itself.
[[nodiscard]] bool survives(Victim victim);
[[nodiscard]] bool is_silent(Victim victim);

/// The faults in what a killed run has left: nothing that was acknowledged may be missing, nothing
/// may be there in part or twice, and little that was not acknowledged.
[[nodiscard]] std::vector<std::string> faults_in(const Remains& remains);

/// A run by its number: stores, options, victims and moments are drawn from the number.
[[nodiscard]] KilledRun draw(const std::string& store, std::uint64_t number);

}  // namespace heddle::killed
