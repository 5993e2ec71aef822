#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "machine/threads.h"
#include "model/random.h"
#include "protocol/outcome.h"
#include "protocol/silo.h"
#include "protocol/snapshot.h"
#include "storage/storage.h"

namespace heddle::test {

/// A workload run by a single worker, one transaction after the other: nothing ever conflicts.
template <template <class> class W>
class Alone {
 public:
  using M = ThreadsMachine;
  using Workload = W<M>;
  using Input = typename Workload::Input;

  struct Counts {
    std::map<int, int> commits;    // by type
    std::map<int, int> rollbacks;  // by type
    int aborts = 0;
  };

  explicit Alone(const typename Workload::Options& options, std::uint64_t seed = 1)
      : storage_(1),
        workload_(storage_, options),
        random_(seed),
        txn_(storage_, 0),
        snapshot_(storage_, 0) {
    workload_.load(seed);
    storage_.keep_snapshots();
  }

  Workload& workload() { return workload_; }

  Input next() {
    Input input{};
    workload_.generate(random_, 0, 1, ++now_us_, input);
    return input;
  }

  /// Runs `procedure(txn)` as one transaction.
  template <class F>
  Outcome transact(F procedure) {
    storage_.boundary(0, M::now());
    txn_.begin();
    Outcome outcome = procedure(txn_);
    if (outcome == Outcome::commit && !txn_.commit()) outcome = Outcome::abort;
    if (outcome != Outcome::commit) txn_.abort();
    return outcome;
  }

  /// Runs `procedure(txn)` on a snapshot that includes everything committed so far.
  template <class F>
  Outcome look(F procedure) {
    const auto epochs = 2 * Epochs<M>::kEpochsPerSnapshot + 2;
    for (std::uint64_t i = 0; i < epochs; ++i) {
      storage_.epochs().enter(0);
      storage_.epochs().advance(M::now());
    }
    storage_.boundary(0, M::now());
    snapshot_.begin();
    return procedure(snapshot_);
  }

  Outcome execute(const Input& input) {
    return transact([&](auto& txn) { return workload_.execute(txn, input); });
  }

  Counts run(int transactions) {
    Counts counts;
    for (int i = 0; i < transactions; ++i) {
      const Input input = next();
      const int type = Workload::type_of(input);
      Outcome outcome = Outcome::commit;
      if (workload_.is_snapshot(type)) {
        storage_.boundary(0, M::now());
        snapshot_.begin();
        outcome = workload_.query(snapshot_, input);
      } else {
        outcome = execute(input);
      }
      if (outcome == Outcome::commit) ++counts.commits[type];
      if (outcome == Outcome::rollback) ++counts.rollbacks[type];
      if (outcome == Outcome::abort) ++counts.aborts;
    }
    storage_.leave(0);
    return counts;
  }

 private:
  Storage<M> storage_;
  Workload workload_;
  Random random_;
  SiloTransaction<M> txn_;
  SnapshotTransaction<M> snapshot_;
  std::uint64_t now_us_ = 0;
};

}  // namespace heddle::test
