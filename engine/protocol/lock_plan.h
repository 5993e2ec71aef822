#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/signature.h"
#include "storage/storage.h"

namespace heddle {

/// What two-phase locking can derive from a workload before it runs.
struct LockPlan {
  /// Per state: the row read here is written by the next access, so it is locked exclusively at
  /// once. There is then no upgrade, and no two transactions can block each other's upgrade.
  std::vector<bool> reads_for_update;
  /// Per table: its rank in an order that the types' accesses follow as far as they agree on one.
  std::map<std::string, std::uint32_t> ranks;
  /// Whether a type writes the table; the other tables need no locks.
  std::map<std::string, bool> written;
};

[[nodiscard]] LockPlan plan_locks(const Signature& signature);

/// Marks the tables that a type writes.
template <class M>
void mark_written_tables(const LockPlan& plan, Storage<M>& storage) {
  for (TableBase<M>* table : storage.tables()) {
    const auto written = plan.written.find(table->name());
    // A table that no state names is only read.
    table->set_written(written != plan.written.end() && written->second);
  }
}

}  // namespace heddle
