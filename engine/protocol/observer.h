#pragma once

#include "protocol/outcome.h"

namespace heddle {

/// What watches transactions from where their procedures meet the protocol: nobody. Whoever else
/// does provides the same functions, and gets an instantiation of the procedures of its own, so
/// that a run that nobody watches pays nothing.
struct Unobserved {
  /// Whether it must be told which versions readers of the past were given.
  static constexpr bool kRecords = false;

  /// An attempt begins.
  static void begin(int /*type*/, bool /*of_the_past*/) {}

  /// Runs the procedure, which may be run again within the attempt.
  template <class W, class Txn>
  static Outcome execute(W& workload, Txn& txn, const typename W::Input& input) {
    return workload.execute(txn, input);
  }
  template <class W, class Txn>
  static Outcome query(W& workload, Txn& txn, const typename W::Input& input) {
    return workload.query(txn, input);
  }

  /// The attempt is over, and `txn` still holds what it did.
  template <class Txn, class A>
  static void ended(const Txn& /*txn*/, const A& /*attempt*/) {}
};

}  // namespace heddle
