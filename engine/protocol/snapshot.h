#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "protocol/access_set.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "protocol/timeline.h"
#include "protocol/typed_access.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "storage/table.h"

namespace heddle {

/// A read-only transaction on a recent snapshot (Silo §4.9): it sees every commit up to an epoch
/// and none after, takes no part in validation, and never aborts.
///
/// @tparam kKeepsVersions records the versions it returns, for an observer
template <class M, bool kKeepsVersions = false>
class SnapshotTransaction : public TypedAccess<SnapshotTransaction<M, kKeepsVersions>> {
 public:
  struct Seen {
    const Record<M>* record;
    std::uint64_t word;
  };

  SnapshotTransaction(Storage<M>& storage, int worker) : storage_(storage), worker_(worker) {}

  void begin() {
    snapshot_ = Epochs<M>::snapshot_of(storage_.epochs().announced(worker_));
    values_.reset();
    if constexpr (kKeepsVersions) seen_.clear();
  }

  // The operations for TypedAccess (protocol/typed_access.h); a snapshot is read-only.

  template <class T, class Width>
  Row<std::byte> read_row(AccessId state, T& table, const typename T::KeyType& key, Width bytes,
                          const Record<M>* found = nullptr) {
    const Scope scope(AccessKind::read, state, table, [&key] { return key.words[0]; });
    assert(table.in_snapshots() && "this table keeps no past versions for snapshots");
    NodeVersion<M> node;
    const Record<M>* record = found != nullptr ? found : table.index().find(key, node);
    return record == nullptr ? Row<std::byte>{} : row_of(*record, bytes);
  }

  template <class T, class Width, class F>
  bool scan_rows(AccessId state, T& table, const typename T::KeyType& lo,
                 const typename T::KeyType& hi, Order order, std::uint32_t limit, Width bytes,
                 F visit) {
    const Scope scope(AccessKind::scan, state, table, [&lo] { return lo.words[0]; });
    assert(table.in_snapshots() && "this table keeps no past versions for snapshots");
    std::uint32_t visited = 0;
    table.index().scan(lo, hi, order, [&](const NodeVersion<M>&, auto entries) {
      look_ahead_in_scan<M>(entries, limit, bytes);
      for (const auto& [key, record] : entries) {
        const Row<std::byte> row = row_of(*record, bytes);
        if (!row) continue;
        if (!visit(key, row) || ++visited == limit) return false;
      }
      return true;
    });
    return true;
  }

  [[nodiscard]] Outcome stop() const { return Outcome::rollback; }

  /// The version of a row, by its entry number.
  [[nodiscard]] const Seen& seen(std::uint32_t entry) const { return seen_[entry]; }

 private:
  using Scope = timeline::AccessScope<M>;

  /// The newest version the snapshot includes.
  template <class Width>
  Row<std::byte> row_of(const Record<M>& record, Width bytes) {
    std::byte* copy = values_.allocate(bytes);
    const std::uint64_t word = read_stable(record, copy, bytes);
    if (tid::epoch(word) <= snapshot_) [[likely]] {
      return tid::absent(word) ? Row<std::byte>{} : hand_out(record, word, copy);
    }
    // acquire: pairs with the release in Past::add(), for the version's content.
    for (const Version<M>* version = record.past.newest(std::memory_order_acquire);
         version != nullptr; version = version->previous) {
      if (tid::epoch(version->word) > snapshot_) continue;
      if (tid::absent(version->word)) return {};
      std::memcpy(copy, version->payload(), bytes);
      return hand_out(record, version->word, copy);
    }
    return {};
  }

  Row<std::byte> hand_out([[maybe_unused]] const Record<M>& record,
                          [[maybe_unused]] std::uint64_t word, std::byte* copy) {
    if constexpr (kKeepsVersions) seen_.push_back({&record, word});
    return {copy, static_cast<std::uint32_t>(kKeepsVersions ? seen_.size() - 1 : 0)};
  }

  Storage<M>& storage_;
  int worker_;
  std::uint64_t snapshot_ = 0;
  ValueArena values_;
  std::vector<Seen> seen_;
};

}  // namespace heddle
