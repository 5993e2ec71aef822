#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "store/store.h"

namespace heddle::store {

/// When the waits for a store's server end without an answer. A server that is stopped, or whose
/// disk does not answer, keeps its connections open and says nothing.
///
/// The transactions of a run have the watchdog of the run. These are the other waits: for what
/// makes, fills, reads and drops the tables.
class ServerWaits {
 public:
  using Clock = std::chrono::steady_clock;

  /// What is waited for.
  enum class For : std::uint8_t {
    statistics,  ///< the run does not need them
    statement,
    bulk,  ///< it may take as long as all rows take
  };

  /// From the thread that opens the store: the only one that asks StoreSetup::interrupted.
  ServerWaits(std::string store, const StoreSetup& setup);

  /// Why a wait must end; empty: it continues. After an interrupt, and in the threads of a run that
  /// is over, it lasts some seconds at most.
  /// @param begun when it has begun
  /// @param where the server, as messages name it
  [[nodiscard]] std::string reason_to_end(Clock::time_point begun, For what,
                                          const std::string& where);
  /// How long a wait may last once the run is over, or was interrupted.
  [[nodiscard]] Clock::duration longest_to_end() const;
  /// Says that a server does not answer. Later waits for it are short.
  /// @param operation what it was asked for, as in "a commit"
  [[nodiscard]] std::string silence(const std::string& operation, Clock::time_point begun,
                                    const std::string& where);

 private:
  [[nodiscard]] Clock::duration longest(For what) const;

  std::string store_;
  std::function<bool()> interrupted_;
  const std::atomic<std::uint64_t>* stop_;
  Clock::duration silence_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> silent_ = false;
};

}  // namespace heddle::store
