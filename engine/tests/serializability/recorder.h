#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "serializability/history.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "workload/random.h"

namespace heddle::serializability {

/// One part of a row: which version of it this is, and what that replaced.
struct Part {
  VersionId version;
  VersionId replaced;
  std::uint64_t stamp;  ///< drawn when the version is made
  std::uint64_t key;    ///< whose row this is, so that another's can be told
};

/// A row's first columns, which may be read and written by themselves.
struct Prefix {
  Part head;
};

/// A whole row.
struct Whole {
  Part head;
  Part tail;
};
static_assert(sizeof(Whole) % 8 == 0);

inline constexpr std::uint32_t kMostKeys = 64;

/// What one attempt of one worker has done so far. It is emptied when a procedure starts, and a
/// procedure may be started more than once in an attempt: what it is then told again it notes
/// again.
struct Scratch {
  std::vector<Operation> steps;
  /// Per table and key: the versions of both parts as the transaction knows them.
  std::array<std::array<std::array<VersionId, 2>, kMostKeys>, 2> known{};
  std::uint32_t writes = 0;
  Random random{1};
  std::uint64_t stamps = 0;

  void reset() {
    steps.clear();
    known = {};
    writes = 0;
  }
};

/// The accesses of a procedure, noted as they are made.
///
/// Versions written are named by the procedure and put into the row by the protocol, which may do
/// so once, later, or, where it replays, not again; what is noted must not depend on that.
template <class M, class Txn>
class Recorder {
 public:
  /// @param client, sequence the attempt's name
  Recorder(Txn& txn, Scratch& scratch, std::uint32_t client, std::uint64_t sequence,
           std::uint32_t pauses)
      : txn_(txn), scratch_(scratch), client_(client), sequence_(sequence), pauses_(pauses) {
    scratch_.reset();
  }

  /// Whether the attempt is still worth going on with.
  [[nodiscard]] bool alive() const { return alive_; }
  /// What a procedure returns that can't go on.
  [[nodiscard]] Outcome end() const { return alive_ ? Outcome::commit : Outcome::abort; }

  template <class P, class T>
  Row<P> read(AccessId state, T& table, std::uint32_t number, std::uint64_t key) {
    pause();
    const Row<P> row = txn_.template read<P>(state, table, make_key(key));
    if (row) {
      note_row(number, static_cast<std::uint32_t>(key), *row, false);
    } else if (survived()) {
      scratch_.steps.push_back({.step = Step::missed, .item = item(number, key, 0)});
    }
    return row;
  }

  /// Overwrites what a row handle can see of its row.
  template <class T, class P>
  bool update(AccessId state, T& table, std::uint32_t number, std::uint64_t key,
              const Row<P>& row) {
    return overwrite(state, table, number, key, row, true, sizeof(P) == sizeof(Whole));
  }

  /// Overwrites the second part only: who has read the first alone has lost nothing.
  template <class T>
  bool update_tail(AccessId state, T& table, std::uint32_t number, std::uint64_t key,
                   const Row<Whole>& row) {
    return overwrite(state, table, number, key, row, false, true);
  }

  /// False: the key is taken, or the attempt is over.
  template <class T>
  bool insert(AccessId state, T& table, std::uint32_t number, std::uint64_t key) {
    pause();
    const VersionId version = next_version();
    const Part part{version, kNothing, ++scratch_.stamps, key};
    if (!txn_.insert(state, table, make_key(key), Whole{part, part})) {
      (void)survived();
      return false;
    }
    note_write(number, key, 0, version);
    note_write(number, key, 1, version);
    return true;
  }

  template <class T, class P>
  bool remove(AccessId state, T& table, std::uint32_t number, std::uint64_t key,
              const Row<P>& row) {
    pause();
    if (!txn_.remove(state, table, row)) return survived();
    for (std::uint32_t part = 0; part < 2; ++part) {
      VersionId& known = scratch_.known[number][key][part];
      scratch_.steps.push_back(
          {.step = Step::remove, .item = item(number, key, part), .replaced = known});
      known = kNothing;
    }
    return true;
  }

  /// Scans and notes what was there and, up to where the scan went, what was not.
  template <class P, class T>
  bool scan(AccessId state, T& table, std::uint32_t number, std::uint64_t lo, std::uint64_t hi,
            Order order, std::uint32_t limit) {
    pause();
    std::vector<std::uint64_t>& seen = seen_;
    seen.clear();
    const bool done = txn_.template scan<P>(
        state, table, make_key(lo), make_key(hi), order, limit, [&](const auto& key, Row<P> row) {
          note_scanned(number, key.words[0], lo, hi, order);
          note_row(number, static_cast<std::uint32_t>(key.words[0]), *row, true);
          return true;
        });
    if (!done) return survived();
    const bool cut = limit != 0 && seen.size() >= limit;
    const bool up = order == Order::ascending;
    const std::uint64_t first = up || !cut ? lo : seen.back();
    const std::uint64_t last = !up || !cut ? hi : seen.back();
    for (std::uint64_t key = first; key <= last; ++key) {
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      scratch_.steps.push_back(
          {.step = Step::missed, .by_scan = true, .item = item(number, key, 0)});
    }
    return true;
  }

 private:
  static Item item(std::uint32_t table, std::uint64_t key, std::uint32_t part) {
    return Item::of(table, static_cast<std::uint32_t>(key), part);
  }

  template <class T, class P>
  bool overwrite(AccessId state, T& table, std::uint32_t number, std::uint64_t key,
                 const Row<P>& row, bool head, bool tail) {
    pause();
    const VersionId version = next_version();
    const bool ok = txn_.update(state, table, row, [&](P& value) {
      if (head) renew(value.head, version);
      if constexpr (sizeof(P) == sizeof(Whole)) {
        if (tail) renew(value.tail, version);
      }
    });
    if (!ok) return survived();
    if (head) note_write(number, key, 0, version);
    if (tail) note_write(number, key, 1, version);
    return true;
  }

  VersionId next_version() { return make_version(client_, sequence_, ++scratch_.writes); }

  /// After an access that gave nothing: was it the row that is not there?
  bool survived() {
    alive_ = txn_.stop() != Outcome::abort;
    return alive_;
  }

  void renew(Part& part, VersionId version) {
    part.replaced = part.version;
    part.version = version;
    part.stamp = ++scratch_.stamps;
  }

  template <class P>
  void note_row(std::uint32_t table, std::uint32_t key, const P& row, bool by_scan) {
    note_part(item(table, key, 0), row.head, by_scan);
    if constexpr (sizeof(P) == sizeof(Whole)) note_part(item(table, key, 1), row.tail, by_scan);
  }

  void note_part(Item item, const Part& part, bool by_scan) {
    if (part.key != item.key()) note_fault(item, Fault::foreign_row);
    scratch_.known[item.table()][item.key()][item.part()] = part.version;
    scratch_.steps.push_back({.step = Step::read,
                              .by_scan = by_scan,
                              .item = item,
                              .version = part.version,
                              .replaced = part.replaced,
                              .stamp = part.stamp});
  }

  void note_write(std::uint32_t table, std::uint64_t key, std::uint32_t part, VersionId version) {
    VersionId& known = scratch_.known[table][key][part];
    scratch_.steps.push_back({.step = Step::write,
                              .item = item(table, key, part),
                              .version = version,
                              .replaced = known});
    known = version;
  }

  void note_scanned(std::uint32_t table, std::uint64_t key, std::uint64_t lo, std::uint64_t hi,
                    Order order) {
    if (key < lo || key > hi) note_fault(item(table, key % kMostKeys, 0), Fault::scan_outside);
    const bool in_order =
        seen_.empty() || (order == Order::ascending ? seen_.back() < key : seen_.back() > key);
    if (!in_order) note_fault(item(table, key, 0), Fault::scan_disorder);
    seen_.push_back(key);
  }

  void note_fault(Item item, Fault fault) {
    scratch_.steps.push_back(
        {.step = Step::fault, .item = item, .stamp = static_cast<std::uint64_t>(fault)});
  }

  /// Thinks for a moment now and then, so that transactions meet in the middle of one another.
  void pause() {
    if (pauses_ == 0) return;
    const std::uint64_t draw = scratch_.random.next();
    if (draw % pauses_ != 0) return;
    if ((draw >> 32) % 4 == 0) return M::yield();
    for (std::uint64_t left = (draw >> 34) % 256; left > 0; --left) M::pause();
  }

  Txn& txn_;
  Scratch& scratch_;
  std::uint32_t client_;
  std::uint64_t sequence_;
  std::uint32_t pauses_;
  bool alive_ = true;
  std::vector<std::uint64_t> seen_;
};

}  // namespace heddle::serializability
