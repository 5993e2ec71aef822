#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "storage/record.h"

namespace heddle {

/// Starts fetching the lines that hold the bytes [from, from + bytes) of a record's row, and the
/// line of its TID word.
template <class M, class R>
[[gnu::always_inline]] inline void fetch_record(const R& record, std::size_t from,
                                                std::size_t bytes) {
  constexpr std::uintptr_t kLine = 64;
  const auto header = reinterpret_cast<std::uintptr_t>(&record) / kLine * kLine;
  const auto first = reinterpret_cast<std::uintptr_t>(record.payload()) + from;
  M::fetch_ahead(reinterpret_cast<const void*>(header), 1);
  for (auto line = std::max(first / kLine * kLine, header + kLine); line < first + bytes;
       line += kLine) {
    M::fetch_ahead(reinterpret_cast<const void*>(line), 1);
  }
}

/// Rows that are fetched before a procedure uses them.
///
/// A look-up waits for memory twice, for its index node and then for its row; TPC-C and YCSB spend
/// most of their time on such waits. A procedure that knows its keys beforehand can have them
/// fetched all at once, as Cicada (SIGMOD 2017) and CoroBase (VLDB 2021) do.
///
/// The records found are kept, so that the look-ups themselves need no index. Each was the record
/// of its key at some moment since the call. It is as good as one that the index has just returned:
/// a record is marked dead before it leaves the index, and every protocol checks that mark.
template <class M>
class RowsAhead {
 public:
  static constexpr std::size_t kRows = 64;  ///< how many are fetched at once

  /// Fetches rows. `rows(ahead)` calls ahead(table, key, bytes, from = 0) for each row, with the
  /// bytes of its columns that will be used. It is called twice, for the index nodes and for the
  /// records they lead to, and must name the same rows both times. Rows beyond kRows are not
  /// fetched. The caller is inside an epoch, and stays in it while it uses the result.
  template <class Rows>
  [[gnu::always_inline]] void fetch(const Rows& rows) {
    count_ = 0;
    if (M::looks_ahead()) {
      rows([&](const auto& table, const auto& key, std::size_t /*bytes*/, std::size_t = 0) {
        if (count_ < kRows) found_[count_++] = table.index().prefetch(key);
      });
      std::size_t at = 0;
      rows([&](const auto& table, const auto& key, std::size_t bytes, std::size_t from = 0) {
        if (at == count_) return;
        Record<M>* const record = table.index().find_at(found_[at], key);
        found_[at++] = record;
        if (record != nullptr) fetch_record<M>(*record, from, bytes);
      });
    }
  }

  /// The record of the i-th row named; nullptr if it does not exist or is not known.
  [[nodiscard]] Record<M>* operator[](std::size_t i) const {
    // They were non-const records when fetch() noted them.
    return i < count_ ? static_cast<Record<M>*>(const_cast<void*>(found_[i])) : nullptr;
  }

 private:
  std::size_t count_ = 0;
  /// The first `count_` are set: index nodes, then records.
  std::array<const void*, kRows> found_;
};

/// The same for a loop over more rows than are fetched at once, kPerRound rows per round.
template <class M, std::size_t kPerRound = 1>
class RowsAheadInLoop {
 public:
  /// The first record for round i of `count`, or nullptr as in RowsAhead. `rows(j, ahead)` names
  /// the kPerRound rows of round j; every few rounds the rows of the rounds to come are fetched.
  template <class RowsOf>
  [[gnu::always_inline]] Record<M>* turn(std::size_t i, std::size_t count, const RowsOf& rows) {
    round_ = i;
    fetched_ = M::looks_ahead() && count >= 2;
    if (fetched_ && i % kBlock == 0) {
      if (i == 0) fetch(0, count, rows);
      fetch(i + kBlock, count, rows);
    }
    return (*this)[0];
  }

  /// The k-th record of the round of the last turn(), or nullptr as in RowsAhead.
  [[nodiscard]] Record<M>* operator[](std::size_t k) const {
    if (!fetched_) return nullptr;
    return blocks_[round_ / kBlock % 2][round_ % kBlock * kPerRound + k];
  }

 private:
  static constexpr std::size_t kBlock = 8;
  static_assert(kBlock * kPerRound <= RowsAhead<M>::kRows);

  template <class RowsOf>
  [[gnu::always_inline]] void fetch(std::size_t first, std::size_t count, const RowsOf& rows) {
    const std::size_t end = std::min(first + kBlock, count);
    blocks_[first / kBlock % 2].fetch([&](auto ahead) {
      for (std::size_t j = first; j < end; ++j) rows(j, ahead);
    });
  }

  std::array<RowsAhead<M>, 2> blocks_;
  std::size_t round_ = 0;
  bool fetched_ = false;
};

/// Starts fetching the records of an index leaf that a scan is about to visit.
/// @param limit the most rows it visits; 0: all
template <class M, class Entries>
[[gnu::always_inline]] inline void look_ahead_in_scan(const Entries& entries, std::uint32_t limit,
                                                      std::size_t bytes) {
  if (M::looks_ahead()) {
    const std::size_t most = limit == 0 ? entries.size() : limit;
    for (const auto& entry : entries.first(std::min(most, entries.size()))) {
      fetch_record<M>(*entry.record, 0, bytes);
    }
  }
}

}  // namespace heddle
