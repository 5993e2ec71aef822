#pragma once

#include <cstdint>

#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"

namespace heddle::tpce {

/// How a trade has changed a holding.
struct HoldingHistory {
  std::int32_t before;  ///< its quantity; 0: the trade has opened it
  std::int32_t after;   ///< 0: the trade has closed it
};

/// The tables that only the types of the full mix use.
template <class M>
struct FullTables {
  template <class V>
  using Ordered = Table<M, Key1, V, OrderedIndex>;

  FullTables(Storage<M>& storage, const Scale& scale)
      : holding_history(storage, "HOLDING_HISTORY", scale.trades()),
        history_by_holding(storage, "HOLDING_HISTORY_H_T_ID_IDX", scale.trades()) {}

  Ordered<HoldingHistory> holding_history;  ///< by trade, then by holding
  Ordered<IndexRow> history_by_holding;     ///< by holding, then by trade
};

}  // namespace heddle::tpce
