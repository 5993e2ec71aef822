#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "fixture.h"
#include "model/options.h"
#include "protocol/mvto.h"

namespace heddle::test {

/// Transactions ordered by timestamps, driven by hand. ROWS is written, POINTS only read.
class MvtoHands {
 public:
  using Hand = test::Hand<MultiversionTransaction<M>, OrderedTable>;

  explicit MvtoHands(Signature signature = hand_signature(), const OptionMap& options = {})
      : signature_(std::move(signature)),
        runtime_(RunSetup<M>{db.storage, signature_, Database::kWorkers, stop, options, nullptr}) {
    for (int worker = 0; worker < Database::kWorkers; ++worker) {
      txns_.emplace_back(db.storage, worker, runtime_);
    }
  }

  /// Of two transactions the one that began first is the earlier.
  Hand begin(int worker) {
    MultiversionTransaction<M>& txn = txns_[static_cast<std::size_t>(worker)];
    db.storage.boundary(worker, Database::kStill);
    txn.begin();
    return {txn, db.rows, hand_states(kWriter)};
  }

  /// From here on a worker that would wait is stopped instead.
  void forbid_waiting() { stop.store(1, std::memory_order_relaxed); }
  MultiversionRuntime<M>& runtime() { return runtime_; }

  [[nodiscard]] std::optional<std::int64_t> committed(std::uint64_t key) const {
    return Database::committed(db.rows, key);
  }

  Database db;
  Shared<M, std::uint64_t> stop{0};

 private:
  Signature signature_;
  Mvto::Runtime<M> runtime_;
  std::deque<MultiversionTransaction<M>> txns_;
};

/// Overwrites a row again and again, without a reader of the past, and returns by how many bytes
/// the database has grown after the first rounds.
inline std::int64_t growth_by_overwriting(MvtoHands& hands) {
  std::int64_t settled = 0;
  for (int round = 0; round < 200; ++round) {
    for (int worker = 0; worker < Database::kWorkers; ++worker) {
      const MvtoHands::Hand txn = hands.begin(worker);
      EXPECT_TRUE(txn.write(10, round) && txn.commit());
    }
    if (round == 20) settled = hands.db.storage.live_bytes();
  }
  return hands.db.storage.live_bytes() - settled;
}

}  // namespace heddle::test
