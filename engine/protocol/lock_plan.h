#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/signature.h"
#include "storage/storage.h"

namespace heddle {

/// What two-phase locking can know of a workload before it runs.
struct LockPlan {
  /// Per state: the row read here is written by the next access, so it is locked exclusively at
  /// once: no upgrade, and so no two transactions that each hold the other's upgrade back.
  std::vector<bool> reads_for_update;
  /// Per table: its place in an order that the types' accesses follow as far as they agree on one.
  std::map<std::string, std::uint32_t> ranks;
  /// Tables some type writes; the others need no locks.
  std::map<std::string, bool> written;
};

[[nodiscard]] LockPlan plan_locks(const Signature& signature);

/// Tells the tables whether some type writes them.
template <class M>
void mark_written_tables(const LockPlan& plan, Storage<M>& storage) {
  for (TableBase<M>* table : storage.tables()) {
    const auto written = plan.written.find(table->name());
    // A table no state names is only ever read.
    table->set_written(written != plan.written.end() && written->second);
  }
}

}  // namespace heddle
