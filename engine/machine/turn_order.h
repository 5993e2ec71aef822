#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

#include "machine/virtual.h"

namespace heddle {

/// Who goes on of some cores that run one at a time. A step is an access to shared memory; steps
/// are counted over all cores.
class TurnOrder {
 public:
  using CoreSet = std::bitset<VirtualMachine::kMostCores>;

  TurnOrder() = default;
  TurnOrder(const TurnOrder&) = delete;
  TurnOrder& operator=(const TurnOrder&) = delete;
  virtual ~TurnOrder() = default;

  /// The next step that it wants a say in; may be any earlier.
  [[nodiscard]] virtual std::uint64_t next_say() const = 0;
  /// The running core is about to make this step. Who is to go on instead?
  /// @param able who can, the running one among them
  [[nodiscard]] virtual std::size_t before(std::uint64_t step, std::size_t running,
                                           const CoreSet& able) = 0;
  /// The running core spins: the others are to have their turn.
  virtual void spun(std::size_t core) = 0;
  /// No core is running, or it spins. Who goes on? This step is next.
  /// @param able not empty
  [[nodiscard]] virtual std::size_t next(std::uint64_t step, const CoreSet& able) = 0;
  /// A step is made.
  virtual void made(std::uint64_t step, std::size_t core, const CoreSet& able) = 0;
};

}  // namespace heddle
