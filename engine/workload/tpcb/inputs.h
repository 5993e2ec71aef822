#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/random.h"
#include "storage/key.h"
#include "workload/tpcb/options.h"
#include "workload/tpcb/schema.h"

namespace heddle::tpcb {

struct Input {
  std::uint64_t account;
  std::uint64_t teller;
  std::int64_t delta_cents;
  std::uint64_t time_us;
  std::uint64_t history;  ///< the key of the row to add
};

[[nodiscard]] constexpr std::uint64_t branch_of(std::uint64_t teller) {
  return teller / kTellersPerBranch;
}

/// Rows of HISTORY are numbered by the worker that adds them: each appends to a range of its own.
inline constexpr int kHistoryBits = 48;
constexpr Key1 history_key(std::uint64_t worker, std::uint64_t number) {
  return {{worker << kHistoryBits | number}};
}

/// Draws inputs (clause 5.3).
class InputGenerator {
 public:
  InputGenerator(const TpcbOptions& options, int workers)
      : options_(options), added_(static_cast<std::size_t>(workers)) {}

  void generate(Random& random, int worker, std::uint64_t now_us, Input& input) const {
    constexpr std::int64_t kMostDelta_cents = 999'999;
    input.teller = random.below(options_.branches * kTellersPerBranch);
    const std::uint64_t branch = account_branch(random, branch_of(input.teller));
    input.account = branch * options_.accounts + random.below(options_.accounts);
    input.delta_cents = random.between(-kMostDelta_cents, kMostDelta_cents);
    input.time_us = now_us;
    assert(static_cast<std::size_t>(worker) < added_.size());
    Added& own = added_[static_cast<std::size_t>(worker)];
    input.history = history_key(static_cast<std::uint64_t>(worker), ++own.count).words[0];
  }

 private:
  struct alignas(64) Added {
    std::uint64_t count = 0;
  };

  /// The teller's own branch or, for some, one of the others.
  std::uint64_t account_branch(Random& random, std::uint64_t own) const {
    const bool remote = random.below(100) < static_cast<std::uint64_t>(options_.remote);
    if (!remote || options_.branches == 1) return own;
    return (own + 1 + random.below(options_.branches - 1)) % options_.branches;
  }

  TpcbOptions options_;
  /// A worker writes only its own element: generating is const towards everything shared.
  mutable std::vector<Added> added_;
};

}  // namespace heddle::tpcb
