#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::serializability {

/// What a run left behind for the checker. Nothing here knows the engine: a history is transactions
/// and the versions they say they read and wrote.

/// A version's name: which attempt of which client wrote it, and its how manyth write it was. An
/// attempt that is run again is another attempt, so the versions of aborted ones can be told.
/// 0 is no version: the row does not exist.
using VersionId = std::uint64_t;
inline constexpr VersionId kNothing = 0;
inline constexpr int kNumberBits = 12;
inline constexpr int kSequenceBits = 40;

/// The client that populates the database before the others start; its only attempt is number 0.
inline constexpr std::uint32_t kLoader = 0;

constexpr VersionId make_version(std::uint32_t client, std::uint64_t sequence,
                                 std::uint32_t number) {
  return (std::uint64_t{client} << (kSequenceBits + kNumberBits)) | (sequence << kNumberBits) |
         number;
}
constexpr std::uint32_t client_of(VersionId version) {
  return static_cast<std::uint32_t>(version >> (kSequenceBits + kNumberBits));
}
constexpr std::uint64_t sequence_of(VersionId version) {
  return (version >> kNumberBits) & ((std::uint64_t{1} << kSequenceBits) - 1);
}
constexpr std::uint32_t number_of(VersionId version) {
  return static_cast<std::uint32_t>(version & ((1u << kNumberBits) - 1));
}

/// What versions are versions of: a part of a row, as parts may be written one without the other.
/// Part 0 exists exactly while its row does.
struct Item {
  std::uint32_t code = 0;

  static constexpr Item of(std::uint32_t table, std::uint32_t key, std::uint32_t part) {
    return {table << 24 | key << 4 | part};
  }
  [[nodiscard]] constexpr std::uint32_t table() const { return code >> 24; }
  [[nodiscard]] constexpr std::uint32_t key() const { return (code >> 4) & 0xfffff; }
  [[nodiscard]] constexpr std::uint32_t part() const { return code & 0xf; }
  bool operator==(const Item&) const = default;

  [[nodiscard]] std::string text() const {
    std::string text("t");
    text.append(std::to_string(table())).append("/").append(std::to_string(key()));
    if (part() != 0) text.append(".").append(std::to_string(part()));
    return text;
  }
};

enum class Step : std::uint8_t {
  read,    ///< saw `version`, which says of itself that it replaced `replaced`
  missed,  ///< saw that the row does not exist
  write,   ///< wrote `version` over `replaced`; over kNothing: an insert
  remove,  ///< deleted `replaced`
  fault,   ///< saw what no serial order explains by itself; `stamp` is a Fault
};

enum class Fault : std::uint64_t { foreign_row = 1, scan_disorder, scan_outside };

struct Operation {
  Step step = Step::read;
  bool by_scan = false;
  Item item;
  VersionId version = kNothing;
  VersionId replaced = kNothing;
  /// A read: a number that was drawn anew when the version was made, so that two versions under one
  /// name, or a torn one, can be told.
  std::uint64_t stamp = 0;
};

/// A transaction that ended by its own wish, and what it did, in order.
struct Transaction {
  std::uint32_t client = 0;
  std::uint64_t sequence = 0;
  /// Readings of one clock: if `one.ended <= other.began`, the one had ended when the other began.
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
  bool committed = true;     ///< else rolled back by choice
  bool of_the_past = false;  ///< a reader of some state before it began
  std::uint16_t type = 0;
  std::uint64_t first_operation = 0;
  std::uint64_t end_operation = 0;
};

/// One client's transactions, in order of `sequence`.
struct ClientLog {
  std::vector<Transaction> transactions;
  std::vector<Operation> operations;

  void add(Transaction transaction, std::span<const Operation> steps) {
    transaction.first_operation = operations.size();
    operations.insert(operations.end(), steps.begin(), steps.end());
    transaction.end_operation = operations.size();
    transactions.push_back(transaction);
  }
};

/// The logs of all clients, by client number; number 0 is the loader.
using History = std::vector<ClientLog>;

}  // namespace heddle::serializability
