#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/hints.h"
#include "model/inputs.h"
#include "model/signature.h"
#include "protocol/attempts.h"
#include "protocol/key_locks.h"
#include "storage/storage.h"
#include "store/fair_semaphore.h"

namespace heddle {

/// A row that a hint names, by the number of its table. Its key is one word.
struct HintedRow {
  std::size_t table;
  std::uint64_t key;
  bool shared;  ///< it is only read; of two hints for a row the one that writes comes first
  auto operator<=>(const HintedRow&) const = default;
  [[nodiscard]] bool same_row(const HintedRow& other) const {
    return table == other.table && key == other.key;
  }
};

/// The rows that hints name: table and mode of each state.
class HintedRows {
 public:
  template <class M>
  HintedRows(const Signature& signature, const Storage<M>& storage) {
    for (std::size_t state = 0; state < signature.state_count(); ++state) {
      const AccessSpec& access = signature.access(state);
      Row row{.table = 0,
              .exclusive = access.kind != AccessKind::read && access.kind != AccessKind::scan,
              .has_key = false};
      for (const TableBase<M>* table : storage.tables()) {
        if (table->name() != access.table) continue;
        row.table = table->number();
        // Of a scan a hint is the start of the range, and of a longer key it is a hash.
        row.has_key = access.kind != AccessKind::scan && table->kind().key_words == 1;
      }
      rows_.push_back(row);
    }
  }

  /// Whether hints name a row to write, or none at all.
  [[nodiscard]] bool may_write(const Hints& hints) const {
    bool any = false;
    for (const Hint& hint : hints) {
      if (rows_[hint.state].exclusive) return true;
      any = true;
    }
    return !any;
  }

  void add(const Hints& hints, KeyRequests& requests) const {
    for (const Hint& hint : hints) {
      const Row& row = rows_[hint.state];
      requests.add({row.table, hint.key}, row.exclusive);
    }
  }

  /// Adds those whose keys are known.
  void add(const Hints& hints, std::vector<HintedRow>& rows) const {
    for (const Hint& hint : hints) {
      const Row& row = rows_[hint.state];
      if (row.has_key) rows.push_back({row.table, hint.key, !row.exclusive});
    }
  }

 private:
  struct Row {
    std::size_t table;
    bool exclusive;
    bool has_key;  ///< the hint is the row's key
  };
  std::vector<Row> rows_;  ///< by state
};

/// What the workers of a run share in front of the store. A member that is missing asks nothing.
struct ExternalEntrance {
  KeyLocks* locks;
  store::FairSemaphore* places;
  bool prefetches = false;  ///< whether transactions read the rows that they name together
};

/// What one worker waits for before its transactions begin in the store: the locks of the rows that
/// they name, then a place. Those that have a place hold their locks and end without others, so
/// that no two wait for each other.
///
/// Without locks a place may be taken earlier, before a transaction is chosen.
class WorkerEntrance {
 public:
  WorkerEntrance(ExternalEntrance entrance, const HintedRows& rows, const Inputs* inputs)
      : entrance_(entrance), rows_(rows), inputs_(inputs) {}

  WorkerEntrance(const WorkerEntrance&) = delete;
  WorkerEntrance& operator=(const WorkerEntrance&) = delete;
  ~WorkerEntrance() { give_place(); }

  /// Waits for a place, and keeps it until give_place(). False: there is none to wait for.
  bool take_place() {
    if (entrance_.places == nullptr || entrance_.locks != nullptr || has_place_) return false;
    has_place_ = entrance_.places->acquire();  // false: the run ended first
    return true;
  }
  void give_place() {
    if (has_place_) entrance_.places->release();
    has_place_ = false;
  }

  /// The locks and the place, until it is destroyed.
  class Pass {
   public:
    Pass(ExternalEntrance entrance, std::span<const KeyRequest> requests)
        : entrance_(entrance),
          requests_(requests),
          locked_(entrance.locks == nullptr || entrance.locks->lock(requests)),
          placed_(locked_ && (entrance.places == nullptr || entrance.places->acquire())) {}
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() {
      if (entrance_.places != nullptr && placed_) entrance_.places->release();
      if (entrance_.locks != nullptr && locked_) entrance_.locks->unlock(requests_);
    }
    /// False: the run ended first.
    [[nodiscard]] bool granted() const { return placed_; }

   private:
    ExternalEntrance entrance_;
    std::span<const KeyRequest> requests_;
    bool locked_;
    bool placed_;
  };

  /// Waits until the transactions may begin, as one of the store's. One pass at a time.
  [[nodiscard]] Pass enter(std::span<const GroupMember> members) {
    requests_.clear();
    named_.clear();
    if (entrance_.locks != nullptr || entrance_.prefetches) {
      for (const GroupMember& member : members) {
        hints_.clear();
        inputs_->hints(member.input, hints_);
        if (entrance_.locks != nullptr) rows_.add(hints_, requests_);
        if (entrance_.prefetches) rows_.add(hints_, named_);
      }
      requests_.sort();
      std::sort(named_.begin(), named_.end());
      const auto same = [](const HintedRow& one, const HintedRow& other) {
        return one.same_row(other);
      };
      named_.erase(std::unique(named_.begin(), named_.end(), same), named_.end());
    }
    return {{entrance_.locks, has_place_ ? nullptr : entrance_.places}, requests_.all()};
  }

  /// Whether a transaction of a type that writes may write: its hints name a row to write, or none.
  [[nodiscard]] bool may_write(const GroupMember& one) {
    if (inputs_ == nullptr || !inputs_->has_hints()) return true;
    hints_.clear();
    inputs_->hints(one.input, hints_);
    return rows_.may_write(hints_);
  }

  /// What the last pass has locked.
  [[nodiscard]] const KeyRequests& requests() const { return requests_; }
  /// What its transactions are to read together when they begin, in the order of tables and keys.
  [[nodiscard]] std::span<const HintedRow> named() const { return named_; }

 private:
  ExternalEntrance entrance_;
  const HintedRows& rows_;
  const Inputs* inputs_;
  Hints hints_;
  KeyRequests requests_;
  std::vector<HintedRow> named_;
  bool has_place_ = false;  ///< taken before the transaction was chosen
};

}  // namespace heddle
