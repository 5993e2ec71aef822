#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

#include "machine/virtual.h"

namespace heddle {

/// Picks the next core among cores that run one at a time. A step is an access to shared memory;
/// steps are counted over all cores.
class TurnOrder {
 public:
  using CoreSet = std::bitset<VirtualMachine::kMostCores>;

  TurnOrder() = default;
  TurnOrder(const TurnOrder&) = delete;
  TurnOrder& operator=(const TurnOrder&) = delete;
  virtual ~TurnOrder() = default;

  /// The next step at which the order has to be consulted; it may also be consulted earlier.
  [[nodiscard]] virtual std::uint64_t next_say() const = 0;
  /// Called before the running core makes this step. Returns the core that is to run instead.
  /// @param able the cores that can run, including the running one
  [[nodiscard]] virtual std::size_t before(std::uint64_t step, std::size_t running,
                                           const CoreSet& able) = 0;
  /// The running core spins: the others are to have their turn.
  virtual void spun(std::size_t core) = 0;
  /// No core is running, or the running one spins. Returns the core that makes this next step.
  /// @param able not empty
  [[nodiscard]] virtual std::size_t next(std::uint64_t step, const CoreSet& able) = 0;
  /// Notes that a step has been made.
  virtual void made(std::uint64_t step, std::size_t core, const CoreSet& able) = 0;
};

}  // namespace heddle
