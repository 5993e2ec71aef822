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
  std::size_t index = 0;
  typename M::Ticks start = 0;  ///< the earliest start
  std::uint32_t deferred = 0;   ///< number of transactions that were deferred
};

/// Chooses among one worker's transactions. Every worker has its own; workers share information
/// only through KeyTimes.
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
};

}  // namespace heddle::admission
