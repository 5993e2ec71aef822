#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "protocol/access_set.h"
#include "protocol/concepts.h"
#include "protocol/node_set.h"
#include "protocol/optimistic.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "protocol/timeline.h"
#include "protocol/typed_access.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "storage/table.h"

namespace heddle {

/// The operations that stored procedures use (protocol/typed_access.h), built on the steps that a
/// protocol provides.
///
/// Every transaction class derives from this (statically), so a procedure is written once and
/// compiled for each. protocol/concepts.h names the steps that `P` provides, publicly.
template <class M, class P>
class StoredProcedureApi : public TypedAccess<P> {
 public:
  /// P is complete here. If it lacks a step, the error names the step.
  StoredProcedureApi() {
    if constexpr (leaves_timestamps()) {
      static_assert(TimestampTransaction<P, M>);
    } else if constexpr (P::kReplays) {
      static_assert(ReplayingTransaction<P, M>);
    } else {
      static_assert(NodeSetTransaction<P, M>);
    }
  }

  // The operations for TypedAccess (protocol/typed_access.h). `Width` is the number of bytes of the
  // row that are accessed: a number, or a type with the number as a compile-time constant.

  template <class T, class Width>
  Row<std::byte> read_row(AccessId state, T& table, const typename T::KeyType& key, Width bytes,
                          Record<M>* found = nullptr) {
    const Scope scope = access(AccessKind::read, state, table, key);
    const Begin begin = self().begin_access(state);
    switch (begin) {
      case Begin::plain:
      case Begin::proceed: break;
      case Begin::replay: return replay_row(scope);
      case Begin::stop: return {};
    }
    M::on_lookup();
    const Row<std::byte> row = look_up(state, table, key, bytes, found);
    if constexpr (P::kReplays) {
      if (begin == Begin::plain) return row;
      self().log_row(row.entry(), row.get());
      if (!self().end_read(state)) return {};
    }
    return row;
  }

  /// @param modify(std::byte*) works on a private copy
  template <class T, class Width, class F>
  bool update_row(AccessId state, T& table, std::uint32_t entry, Width bytes, F modify) {
    const Scope scope = access(AccessKind::update, state, table, entry);
    const Begin begin = self().begin_access(state);
    switch (begin) {
      case Begin::plain:
      case Begin::proceed: break;
      case Begin::replay: return replay_write(scope);
      case Begin::stop: return false;
    }
    M::on_row();
    std::byte* buffer = self().write_buffer(entry, bytes);
    if (buffer == nullptr) return false;
    modify(buffer);
    return end_write(begin, state, entry);
  }

  template <class T, class Width>
  bool insert_row(AccessId state, T& table, const typename T::KeyType& key, const std::byte* row,
                  Width bytes) {
    const Scope scope = access(AccessKind::insert, state, table, key);
    const Begin begin = self().begin_access(state);
    switch (begin) {
      case Begin::plain:
      case Begin::proceed: break;
      case Begin::replay: return replay_write(scope);
      case Begin::stop: return false;
    }
    M::on_insert();
    std::uint32_t entry = 0;
    if (!place_record(state, table, key, entry)) {
      if constexpr (P::kReplays) {
        if (begin != Begin::plain) self().log_write(false);
      }
      return false;
    }
    std::byte* buffer = self().write_buffer(entry, bytes);
    if (buffer == nullptr) return false;
    std::memcpy(buffer, row, bytes);
    self().revive(entry);
    return end_write(begin, state, entry);
  }

  template <class T>
  bool remove_row(AccessId state, T& table, std::uint32_t entry) {
    const Scope scope = access(AccessKind::remove, state, table, entry);
    const Begin begin = self().begin_access(state);
    switch (begin) {
      case Begin::plain:
      case Begin::proceed: break;
      case Begin::replay: return replay_write(scope);
      case Begin::stop: return false;
    }
    M::on_row();
    if (!self().mark_removed(entry)) return false;
    return end_write(begin, state, entry);
  }

  /// @param visit(key, const Row<std::byte>&) returns false to end the scan
  template <class T, class Width, class F>
  bool scan_rows(AccessId state, T& table, const typename T::KeyType& lo,
                 const typename T::KeyType& hi, Order order, std::uint32_t limit, Width bytes,
                 F visit) {
    const Scope scope = access(AccessKind::scan, state, table, lo);
    const Begin begin = self().begin_access(state);
    switch (begin) {
      case Begin::plain:
      case Begin::proceed: break;
      case Begin::replay: return replay_scan<T>(visit, scope);
      case Begin::stop: return false;
    }
    if constexpr (leaves_timestamps()) {
      return scan_noting(state, table, lo, hi, order, limit, bytes, visit);
    } else {
      return scan_watching(begin, state, table, lo, hi, order, limit, bytes, visit);
    }
  }

 protected:
  P& self() { return static_cast<P&>(*this); }

 private:
  using Scope = timeline::AccessScope<M>;
  /// The code that scans a range again does not depend on the columns.
  template <class T>
  using Keyed = typename T::Keyed;

  /// Evaluated where P is complete.
  static constexpr bool leaves_timestamps() {
    return requires { requires P::kLeavesTimestamps; };
  }

  template <class T>
  Scope access(AccessKind kind, AccessId state, const T& table, const typename T::KeyType& key) {
    return {kind, state, table, [&key] { return key.words[0]; }};
  }
  template <class T>
  Scope access(AccessKind kind, AccessId state, const T& table, std::uint32_t entry) {
    return {kind, state, table, [&] { return table.key_of(self().record_of(entry)).words[0]; }};
  }

  template <class T, class Width>
  Row<std::byte> look_up(AccessId state, T& table, const typename T::KeyType& key, Width bytes,
                         Record<M>* found) {
    int spins = 0;
    while (true) {
      NodeVersion<M> node;
      Record<M>* const record = found != nullptr ? found : table.index().find(key, node);
      if (record == nullptr) {
        if constexpr (leaves_timestamps()) {
          if (!self().note_miss(table, self().name_of(table, key), node)) continue;
        } else {
          begin_range(&key_still_missing<Keyed<T>>, table, key, key, Order::ascending);
          self().nodes().add_node(node);
        }
        return {};
      }
      std::uint32_t entry = 0;
      switch (look(state, table, key, record, bytes, false, entry)) {
        case Look::present: return {self().value_of(entry), entry};
        case Look::absent:
        case Look::stop: return {};
        case Look::gone: found = nullptr; M::relax(spins);
      }
    }
  }

  template <class T>
  [[gnu::always_inline]] Look look(AccessId state, T& table, const typename T::KeyType& key,
                                   Record<M>* record, std::uint32_t bytes, bool for_scan,
                                   std::uint32_t& entry) {
    if constexpr (leaves_timestamps()) {
      return self().look(state, table, self().name_of(table, key), record, bytes, entry);
    } else {
      return self().look(state, table, record, bytes, for_scan, entry);
    }
  }

  /// A scan that adds the leaves to the node set.
  template <class T, class Width, class F>
  [[gnu::always_inline]] bool scan_watching(Begin begin, AccessId state, T& table,
                                            const typename T::KeyType& lo,
                                            const typename T::KeyType& hi, Order order,
                                            std::uint32_t limit, Width bytes, F& visit) {
    bool alive = true;
    std::uint32_t visited = 0;
    using Key = typename T::KeyType;
    Key* bounds = begin_range(&range_unchanged<Keyed<T>>, table, lo, hi, order);
    // After the range: it belongs to this access, and a retry that replays the access keeps it.
    const bool told = P::kReplays && begin != Begin::plain;
    if constexpr (P::kReplays) {
      if (told) self().log_scan_begin();
    }
    Key& far_bound = order == Order::ascending ? bounds[1] : bounds[0];
    table.index().scan(lo, hi, order, [&](const NodeVersion<M>& node, auto entries) {
      self().nodes().add_node(node);
      look_ahead_in_scan<M>(entries, limit, bytes);
      for (const auto& [key, record] : entries) {
        M::on_row();
        std::uint32_t entry = 0;
        const Look found = look(state, table, key, record, bytes, true, entry);
        if (found == Look::stop) return alive = false;
        if (found == Look::gone) {
          // The node has changed with it, so this transaction cannot commit.
          self().conflict(AbortReason::record_unlinked, state);
          return alive = false;
        }
        self().nodes().add_entry(entry);
        if (found == Look::absent) continue;
        const std::byte* value = self().value_of(entry);
        if constexpr (P::kReplays) {
          if (told) self().log_scan_row(key.words.data(), sizeof(key), entry, value);
        }
        const bool more = visit(key, Row<std::byte>(value, entry));
        if (++visited == limit || !more) {
          far_bound = key;  // the rest of the range was not read
          return false;
        }
      }
      return true;
    });
    if constexpr (P::kReplays) {
      if (told && alive) return self().end_read(state);
    }
    return alive;
  }

  /// A scan that leaves a timestamp with every leaf before it visits it; a leaf that has changed by
  /// then is read again.
  template <class T, class Width, class F>
  bool scan_noting(AccessId state, T& table, typename T::KeyType lo, typename T::KeyType hi,
                   Order order, std::uint32_t limit, Width bytes, F& visit) {
    using Key = typename T::KeyType;
    // The end of the range up to which rows have been visited; the next row comes after it.
    Key& done = order == Order::ascending ? lo : hi;
    bool some_done = false;
    bool alive = true;
    std::uint32_t visited = 0;
    for (int spins = 0;; M::relax(spins)) {
      bool again = false;
      // By value: the index reads its bounds while `done` changes.
      table.index().scan(Key(lo), Key(hi), order, [&](const NodeVersion<M>& node, auto entries) {
        if (!self().note_scan(table, node)) {
          again = true;
          return false;
        }
        look_ahead_in_scan<M>(entries, limit, bytes);
        for (const auto& [key, record] : entries) {
          if (some_done && key == done) continue;
          M::on_row();
          std::uint32_t entry = 0;
          const Look found = look(state, table, key, record, bytes, true, entry);
          if (found == Look::stop) return alive = false;
          if (found == Look::gone) {  // it has just left the leaf
            again = true;
            return false;
          }
          done = key;
          some_done = true;
          if (found == Look::absent) continue;
          const Row<std::byte> row(self().value_of(entry), entry);
          if (!visit(key, row) || ++visited == limit) return false;
        }
        return true;
      });
      if (!again) return alive;
    }
  }

  template <class T>
  typename T::KeyType* begin_range(typename NodeSet<M>::Range::Check check, T& table,
                                   const typename T::KeyType& lo, const typename T::KeyType& hi,
                                   Order order) {
    using Key = typename T::KeyType;
    auto* bounds = reinterpret_cast<Key*>(self().allocate(2 * sizeof(Key)));
    new (bounds) Key(lo);
    new (bounds + 1) Key(hi);
    self().nodes().begin_range(check, static_cast<Keyed<T>*>(&table),
                               reinterpret_cast<const std::byte*>(bounds),
                               order == Order::descending, self().position());
    return bounds;
  }

  /// The transaction that a node set passes to the checks of its ranges.
  static P& of(void* transaction) {
    return static_cast<P&>(*static_cast<OptimisticCore<M>*>(transaction));
  }

  /// Scans a range again. Returns whether it holds the same records, less those invisible to the
  /// transaction.
  template <class T>
  static bool range_unchanged(void* transaction, const typename NodeSet<M>::Range& range,
                              std::span<const std::uint32_t> entries,
                              std::vector<NodeVersion<M>>& fresh) {
    P& self = of(transaction);
    const auto* bounds = reinterpret_cast<const typename T::KeyType*>(range.keys);
    const Order order = range.descending ? Order::descending : Order::ascending;
    std::size_t next = 0;
    bool same = true;
    static_cast<T*>(range.table)
        ->index()
        .scan(bounds[0], bounds[1], order, [&](const NodeVersion<M>& seen, auto found) {
          fresh.push_back(seen);
          for (const auto& [key, record] : found) {
            if (next < entries.size() && self.record_of(entries[next]) == record) {
              ++next;
            } else if (!self.invisible(record)) {
              return same = false;
            }
          }
          return true;
        });
    return same && next == entries.size();
  }

  template <class T>
  static bool key_still_missing(void* transaction, const typename NodeSet<M>::Range& range,
                                std::span<const std::uint32_t>,
                                std::vector<NodeVersion<M>>& fresh) {
    NodeVersion<M> node;
    const auto* key = reinterpret_cast<const typename T::KeyType*>(range.keys);
    const Record<M>* record = static_cast<T*>(range.table)->index().find(*key, node);
    if (record != nullptr) return of(transaction).invisible(record);
    fresh.push_back(node);
    return true;
  }

  template <class T>
  bool place_record(AccessId state, T& table, const typename T::KeyType& key,
                    std::uint32_t& entry) {
    int spins = 0;
    while (true) {
      Record<M>* fresh = table.make_record(self().worker(), key, tid::kPlaceholder);
      const InsertResult<M> result = insert_into_index(table, key, fresh);
      if (!result.inserted) {
        self().storage().release(self().worker(), fresh, table.record_bytes());
      }
      switch (place(state, table, key, result, entry)) {
        case Look::absent: return true;
        case Look::present:
        case Look::stop: return false;
        case Look::gone: M::relax(spins);
      }
    }
  }

  template <class T>
  [[gnu::always_inline]] InsertResult<M> insert_into_index(T& table, const typename T::KeyType& key,
                                                           Record<M>* record) {
    if constexpr (leaves_timestamps() && requires { table.index().last_removal(); }) {
      return table.index().insert(self().worker(), key, record, self().follow_split());
    } else {
      return table.index().insert(self().worker(), key, record);
    }
  }

  template <class T>
  [[gnu::always_inline]] Look place(AccessId state, T& table, const typename T::KeyType& key,
                                    const InsertResult<M>& result, std::uint32_t& entry) {
    if constexpr (leaves_timestamps()) {
      return self().place(state, table, self().name_of(table, key), result, entry);
    } else {
      return self().place(state, table, result, entry);
    }
  }

  bool end_write(Begin begin, AccessId state, std::uint32_t entry) {
    if constexpr (leaves_timestamps()) {
      return self().end_write(state, entry);
    } else if constexpr (P::kReplays) {
      return begin == Begin::plain || self().end_write(state, entry);
    }
    return true;
  }

  bool replay_write(const Scope& scope) {
    scope.replayed();
    if constexpr (P::kReplays) return self().replay_write();
    return true;
  }

  Row<std::byte> replay_row(const Scope& scope) {
    scope.replayed();
    if constexpr (P::kReplays) {
      const auto [value, entry] = self().replay_row();
      return {static_cast<const std::byte*>(value), entry};
    }
    return {};
  }

  template <class T, class F>
  bool replay_scan(F& visit, const Scope& scope) {
    scope.replayed();
    if constexpr (P::kReplays) {
      bool go_on = true;
      self().replay_scan([&](const void* key, const void* value, std::uint32_t entry) {
        if (!go_on) return;
        go_on = visit(*static_cast<const typename T::KeyType*>(key),
                      Row<std::byte>(static_cast<const std::byte*>(value), entry));
      });
    }
    return true;
  }
};

}  // namespace heddle
