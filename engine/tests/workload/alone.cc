#include "workload/alone.h"

#include "protocol/any_transaction.h"
#include "storage/epochs.h"

namespace heddle::test {

Outcome SiloAlone::transact(Procedure procedure) {
  storage_.boundary(0, M::now());
  txn_.begin();
  ErasedTransaction<M, SiloTransaction<M>> erased(txn_);
  Txn observed(erased);
  Outcome outcome = procedure(observed);
  if (outcome == Outcome::commit && !txn_.commit()) outcome = Outcome::abort;
  if (outcome != Outcome::commit) txn_.abort();
  return outcome;
}

Outcome SiloAlone::query(Procedure procedure) {
  storage_.boundary(0, M::now());
  snapshot_.begin();
  ErasedTransaction<M, SnapshotTransaction<M, true>> erased(snapshot_);
  Txn observed(erased);
  return procedure(observed);
}

void SiloAlone::renew_snapshots() {
  const auto epochs = 2 * Epochs<M>::kEpochsPerSnapshot + 2;
  for (std::uint64_t i = 0; i < epochs; ++i) {
    storage_.epochs().enter(0);
    storage_.epochs().advance(M::now());
  }
}

}  // namespace heddle::test
