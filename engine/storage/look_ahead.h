#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle {

/// Starts fetching the lines that hold the bytes [from, from + bytes) of a record's row, and the
/// line of its TID word.
template <class M, class R>
[[gnu::always_inline]] inline void fetch_record(const R& record, std::size_t from,
                                                std::size_t bytes) {
  constexpr std::uintptr_t kLine = 64;
  const auto header = reinterpret_cast<std::uintptr_t>(&record) / kLine * kLine;
  const auto first = reinterpret_cast<std::uintptr_t>(record.payload()) + from;
  M::prefetch(reinterpret_cast<const std::byte*>(header), 1);
  for (auto line = std::max(first / kLine * kLine, header + kLine); line < first + bytes;
       line += kLine) {
    M::prefetch(reinterpret_cast<const std::byte*>(line), 1);
  }
}

/// How many rows are fetched at once.
inline constexpr std::size_t kRowsAhead = 64;

/// Starts fetching rows that a procedure will use.
///
/// A look-up waits for memory twice, for its index node and then for its row, and most of the time
/// that TPC-C and YCSB take is such waiting. A procedure that knows keys beforehand can have
/// them fetched all at once, as Cicada (SIGMOD 2017) and CoroBase (VLDB 2021) do.
///
/// `rows(ahead)` calls ahead(table, key, bytes, from = 0) for each row: of its columns these bytes
/// will be used. It is called twice, and must name the same rows both times: for the index nodes,
/// and for what they lead to. What is named beyond kRowsAhead rows is not fetched. Nothing read
/// here is believed: a row that is missed, or taken for another, is fetched in vain. The caller is
/// inside an epoch.
template <class M, class Rows>
[[gnu::always_inline]] inline void look_ahead([[maybe_unused]] const Rows& rows) {
  if constexpr (M::kLooksAhead) {
    std::array<const void*, kRowsAhead> places;  // the first `count` are set
    std::size_t count = 0;
    rows([&](const auto& table, const auto& key, std::size_t /*bytes*/, std::size_t /*from*/ = 0) {
      if (count < kRowsAhead) places[count++] = table.index().prefetch(key);
    });
    std::size_t at = 0;
    rows([&](const auto& table, const auto& key, std::size_t bytes, std::size_t from = 0) {
      if (at == count) return;
      const auto* record = table.index().guess(places[at++], key);
      if (record != nullptr) fetch_record<M>(*record, from, bytes);
    });
  }
}

/// The same at the i-th turn of a loop over `count` rows, which are too many to be fetched at once:
/// `row(j, ahead)` names the j-th. From time to time it fetches those of the turns to come.
template <class M, class RowOf>
[[gnu::always_inline]] inline void look_ahead_in_loop([[maybe_unused]] std::size_t i,
                                                      [[maybe_unused]] std::size_t count,
                                                      [[maybe_unused]] const RowOf& row) {
  if constexpr (M::kLooksAhead) {
    constexpr std::size_t kBlock = 8;
    if (i % kBlock != 0 || count < 2) return;
    const std::size_t end = std::min(i + 2 * kBlock, count);
    look_ahead<M>([&](auto ahead) {
      for (std::size_t j = i == 0 ? 0 : i + kBlock; j < end; ++j) row(j, ahead);
    });
  }
}

/// Starts fetching the records of an index leaf that a scan is about to visit.
/// @param limit how many rows it visits at most; 0: all
template <class M, class Entries>
[[gnu::always_inline]] inline void look_ahead_in_scan([[maybe_unused]] const Entries& entries,
                                                      [[maybe_unused]] std::uint32_t limit,
                                                      [[maybe_unused]] std::size_t bytes) {
  if constexpr (M::kLooksAhead) {
    const std::size_t most = limit == 0 ? entries.size() : limit;
    for (const auto& entry : entries.first(std::min(most, entries.size()))) {
      fetch_record<M>(*entry.record, 0, bytes);
    }
  }
}

}  // namespace heddle
