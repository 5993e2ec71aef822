#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/key.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"
#include "workload/reads.h"
#include "workload/taobench/inputs.h"
#include "workload/taobench/states.h"
#include "workload/taobench/tables.h"

namespace heddle::taobench {

/// The states of a type, by operation.
struct States {
  AccessId read_object;
  AccessId read_edge;
  AccessId scan_edges;
  AccessId rmw_read_object;
  AccessId rmw_update_object;
  AccessId rmw_read_edge;
  AccessId rmw_update_edge;
};

[[nodiscard]] inline States states_of(Type type, Reads reads) {
  States states{kNoState, kNoState, kNoState, kNoState, kNoState, kNoState, kNoState};
  switch (type) {
    case Type::write:
      states.rmw_read_object = kWriteReadObject;
      states.rmw_update_object = kWriteUpdateObject;
      states.rmw_read_edge = kWriteReadEdge;
      states.rmw_update_edge = kWriteUpdateEdge;
      break;
    case Type::write_txn:
      states.read_object = kWriteTxnReadObject;
      states.read_edge = kWriteTxnReadEdge;
      states.rmw_read_object = kWriteTxnRmwReadObject;
      states.rmw_update_object = kWriteTxnRmwUpdateObject;
      states.rmw_read_edge = kWriteTxnRmwReadEdge;
      states.rmw_update_edge = kWriteTxnRmwUpdateEdge;
      break;
    case Type::read:
      states.read_object = reads.state(kReadObject);
      states.read_edge = reads.state(kReadEdge);
      states.scan_edges = reads.state(kReadScanEdges);
      break;
    case Type::read_txn:
      states.read_object = reads.state(kReadTxnReadObject);
      states.read_edge = reads.state(kReadTxnReadEdge);
      break;
  }
  return states;
}

/// The reads of a transaction.
template <class Txn, class M>
bool look(Txn& txn, Tables<M>& tables, const Operation& operation, const States& states,
          Record<M>* found) {
  switch (operation.kind) {
    case Kind::read_object:
      return static_cast<bool>(
          txn.read(states.read_object, tables.objects, make_key(operation.object), found));
    case Kind::read_edge:
      return static_cast<bool>(txn.read(states.read_edge, tables.edges,
                                        pair_key(operation.object, operation.to), found));
    case Kind::scan_edges:
      return txn.scan(states.scan_edges, tables.edges, pair_key(operation.object, 0),
                      last_pair(operation.object), Order::ascending, 0,
                      [](const Key1&, const auto&) { return true; });
    case Kind::update_object:
    case Kind::update_edge: break;
  }
  return false;
}

/// The record of the i-th operation, if known; see RowsAheadInLoop.
template <class M>
Record<M>* look_ahead_from(std::size_t i, RowsAheadInLoop<M>& rows, const Tables<M>& tables,
                           const Input& input) {
  return rows.turn(i, input.count, [&](std::size_t at, auto ahead) {
    const Operation& operation = input.operations[at];
    switch (operation.kind) {
      case Kind::read_object:
      case Kind::update_object:
        return ahead(tables.objects, make_key(operation.object), sizeof(Value));
      case Kind::read_edge:
      case Kind::update_edge:
        return ahead(tables.edges, pair_key(operation.object, operation.to), sizeof(Value));
      case Kind::scan_edges: return ahead(tables.edges, pair_key(operation.object, 0), 0);
    }
  });
}

/// The two types that only read.
template <class Txn, class M>
Outcome run_reads(Txn& txn, Tables<M>& tables, const Input& input, Reads reads) {
  const States states = states_of(input.type, reads);
  RowsAheadInLoop<M> rows;
  for (std::uint32_t i = 0; i < input.count; ++i) {
    auto* const found = look_ahead_from<M>(i, rows, tables, input);
    if (!look(txn, tables, input.operations[i], states, found)) return txn.stop();
  }
  return Outcome::commit;
}

/// The two types that write.
template <class Txn, class M>
class Writes {
 public:
  Writes(Txn& txn, Tables<M>& tables, const Input& input)
      : txn_(txn), tables_(tables), in_(input), states_(states_of(input.type, {})) {}

  Outcome run() {
    RowsAheadInLoop<M> rows;
    for (std::uint32_t i = 0; i < in_.count; ++i) {
      auto* const found = look_ahead_from<M>(i, rows, tables_, in_);
      const Operation& operation = in_.operations[i];
      const bool done = operation.kind == Kind::update_object ? update_object(operation, found)
                        : operation.kind == Kind::update_edge
                            ? update_edge(operation)
                            : look(txn_, tables_, operation, states_, found);
      if (!done) return txn_.stop();
    }
    txn_.passed(states_.rmw_update_edge);
    return Outcome::commit;
  }

 private:
  bool update_object(const Operation& operation, Record<M>* found) {
    const auto row =
        txn_.read(states_.rmw_read_object, tables_.objects, make_key(operation.object), found);
    return row && txn_.update(states_.rmw_update_object, tables_.objects, row,
                              [&](Value& value) { value.add(operation.change); });
  }

  /// Updates both rows of a two-way edge, in key order, so that two-phase locking avoids aborts.
  bool update_edge(const Operation& operation) {
    std::array<Key1, 2> keys{pair_key(operation.object, operation.to),
                             pair_key(operation.to, operation.object)};
    if (operation.two_way && keys[1] < keys[0]) std::swap(keys[0], keys[1]);
    const std::size_t count = operation.two_way ? 2 : 1;
    std::array<Row<Value>, 2> rows{};
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = txn_.read(states_.rmw_read_edge, tables_.edges, keys[i]);
      if (!rows[i]) return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!txn_.update(states_.rmw_update_edge, tables_.edges, rows[i],
                       [&](Value& value) { value.add(operation.change); })) {
        return false;
      }
    }
    return true;
  }

  Txn& txn_;
  Tables<M>& tables_;
  const Input& in_;
  States states_;
};

}  // namespace heddle::taobench
