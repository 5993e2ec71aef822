#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schedule/admission/operation.h"

namespace heddle::admission {

/// A transaction that has been drawn and not begun.
template <class M>
struct Candidate {
  Operations operations;           ///< none: it is cold
  typename M::Ticks duration = 0;  ///< expected duration
};

/// The transaction that starts next, and when.
template <class M>
struct Choice {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t index = 0;        ///< kNone: none may start before `start`, when to choose again
  typename M::Ticks start = 0;  ///< the earliest start
  std::uint32_t deferred = 0;   ///< number of transactions that were deferred
};

/// Chooses among one worker's transactions. Every worker has its own; workers share information
/// only through HotKeys.
template <class M>
class Policy {
 public:
  using Ticks = typename M::Ticks;

  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  /// @param waiting all of them hot, the oldest first; at least one
  /// @param forced whether the oldest has been overtaken often enough, and must start
  virtual Choice<M> choose(std::span<const Candidate<M>* const> waiting, bool forced,
                           Ticks now) = 0;

  /// The time at which an aborted transaction may start again.
  virtual Ticks again(const Candidate<M>& candidate, Ticks now) = 0;

  /// A transaction that was chosen has committed or rolled back.
  virtual void ended(const Candidate<M>& /*candidate*/) {}
};

}  // namespace heddle::admission
