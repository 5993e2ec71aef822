#pragma once

#include <cstdint>
#include <map>

#include "machine/threads.h"
#include "model/function_ref.h"
#include "model/random.h"
#include "protocol/observer.h"
#include "protocol/outcome.h"
#include "protocol/silo.h"
#include "protocol/snapshot.h"
#include "storage/storage.h"

namespace heddle::test {

/// Silo with a single worker: nothing ever conflicts. Compiled once, for every workload.
class SiloAlone {
 public:
  using M = ThreadsMachine;
  using Txn = ObservedTransaction<M>;
  using Procedure = FunctionRef<Outcome(Txn&)>;

  SiloAlone() : storage_(1), txn_(storage_, 0), snapshot_(storage_, 0) {}

  [[nodiscard]] Storage<M>& storage() { return storage_; }

  /// Runs a procedure as one transaction.
  Outcome transact(Procedure procedure);
  /// Runs a procedure on a snapshot.
  Outcome query(Procedure procedure);
  /// Ends epochs until a snapshot includes everything committed so far.
  void renew_snapshots();

 private:
  Storage<M> storage_;
  SiloTransaction<M> txn_;
  SnapshotTransaction<M, true> snapshot_;
};

/// A workload run by a single worker, one transaction after the other.
template <template <class> class W>
class Alone {
 public:
  using M = ThreadsMachine;
  using Workload = W<M>;
  using Input = typename Workload::Input;
  using Procedure = SiloAlone::Procedure;

  struct Counts {
    std::map<int, int> commits;    // by type
    std::map<int, int> rollbacks;  // by type
    int aborts = 0;
  };

  explicit Alone(const typename Workload::Options& options, std::uint64_t seed = 1)
      : workload_(silo_.storage(), options), random_(seed) {
    workload_.load(seed);
    silo_.storage().keep_snapshots();
  }

  Workload& workload() { return workload_; }

  Input next() {
    Input input{};
    workload_.generate(random_, 0, 1, ++now_us_, input);
    return input;
  }

  Outcome transact(Procedure procedure) { return silo_.transact(procedure); }

  /// Runs a procedure on a snapshot that includes everything committed so far.
  Outcome look(Procedure procedure) {
    silo_.renew_snapshots();
    return silo_.query(procedure);
  }

  Outcome execute(const Input& input) {
    return transact([&](auto& txn) { return workload_.execute(txn, input); });
  }

  Counts run(int transactions) {
    Counts counts;
    for (int i = 0; i < transactions; ++i) {
      const Input input = next();
      const int type = Workload::type_of(input);
      const Outcome outcome =
          workload_.is_snapshot(type)
              ? silo_.query([&](auto& txn) { return workload_.query(txn, input); })
              : execute(input);
      if (outcome == Outcome::commit) ++counts.commits[type];
      if (outcome == Outcome::rollback) ++counts.rollbacks[type];
      if (outcome == Outcome::abort) ++counts.aborts;
    }
    silo_.storage().leave(0);
    return counts;
  }

 private:
  SiloAlone silo_;
  Workload workload_;
  Random random_;
  std::uint64_t now_us_ = 0;
};

}  // namespace heddle::test
