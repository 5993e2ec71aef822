#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/signature.h"
#include "workload/replay/header.h"
#include "workload/replay/mapped_file.h"

namespace heddle::replay {

/// Properties of an access in addition to its step; see `Program::marks`.
enum Mark : std::uint8_t {
  kCloses = 1,  ///< no later access of its transaction has its number or a lower one
  kAdds = 2,    ///< this update adds one to its row's number …
  kTakes = 4,   ///< this one subtracts one
};

/// A part of a trace in the form that `traces.replay` writes for the engine: the inputs of
/// transactions, in the order in which they were recorded.
///
/// The file is little-endian. It starts with the eight bytes `kMagic`, followed by its version and
/// the length of the JSON, 32 bits each. The JSON follows, padded with blanks to a multiple of
/// eight. Then, without gaps, come these arrays:
///
///     begin         u64  per transaction  time of its begin, microseconds after the first.
///     first_access  u64  per transaction  and one more. Its accesses are [this, next).
///     row           u32  per access       number of its row in its table.
///     session       u32  per transaction  number of its session.
///     access        u16  per access       its number in its type.
///     type          u16  per transaction
///     rolls_back    u8   per transaction  1 if it rolled back.
///     born          u8   per row          1 if it does not exist at the start.
///
/// The JSON gives the meaning of the numbers. "transactions", "accesses" and "sessions" are counts.
/// "tables" is a list of objects with "name" and "rows". "types" is a list of objects with "name"
/// and "accesses". An access has "name", "table", a number, and "kind", as in a trace. All other
/// fields are informational.
class Program {
 public:
  static constexpr std::string_view kMagic = "HDLREPLY";
  static constexpr std::uint32_t kVersion = 1;
  /// No transaction begins later: 142 years, a range in which a double distinguishes microseconds.
  static constexpr std::uint64_t kLatestBegin = std::uint64_t{1} << 52;

  /// Reads all of a file and validates it. Throws std::invalid_argument, which names the file, the
  /// byte and the field.
  explicit Program(const std::string& path);

  [[nodiscard]] const Signature& signature() const { return header_.signature; }
  [[nodiscard]] const std::vector<TableSpec>& tables() const { return header_.tables; }
  [[nodiscard]] std::size_t transactions() const { return type_.size(); }
  [[nodiscard]] std::size_t sessions() const { return header_.sessions; }

  [[nodiscard]] std::uint16_t type(std::size_t transaction) const { return type_[transaction]; }
  [[nodiscard]] std::uint32_t session(std::size_t transaction) const {
    return session_[transaction];
  }
  /// The share of a type in all transactions, 0 to 1.
  [[nodiscard]] double share(int type) const {
    return static_cast<double>(of_type_[static_cast<std::size_t>(type)]) /
           static_cast<double>(transactions());
  }
  /// Microseconds after the first transaction began.
  [[nodiscard]] std::uint64_t begin(std::size_t transaction) const { return begin_[transaction]; }
  [[nodiscard]] std::span<const std::uint64_t> begins() const { return begin_; }
  [[nodiscard]] bool rolls_back(std::size_t transaction) const {
    return rolls_back_[transaction] != 0;
  }
  [[nodiscard]] std::uint64_t first_access(std::size_t transaction) const {
    return first_access_[transaction];
  }
  [[nodiscard]] std::uint64_t end_access(std::size_t transaction) const {
    return first_access_[transaction + 1];
  }
  [[nodiscard]] const Step& step(std::uint16_t type, std::uint64_t access) const {
    return header_.steps[type][access_[access]];
  }
  [[nodiscard]] std::uint32_t row(std::uint64_t access) const { return row_[access]; }
  /// Flags of `Mark`.
  [[nodiscard]] std::uint8_t marks(std::uint64_t access) const { return marks_[access]; }
  [[nodiscard]] bool born(std::uint16_t table, std::uint64_t row) const {
    return born_[place_of(table, row)] != 0;
  }

 private:
  class Reader;

  [[nodiscard]] std::uint64_t place_of(std::uint16_t table, std::uint64_t row) const {
    return header_.tables[table].first_born + row;
  }
  void check_transactions(const Reader& reader) const;
  void check_accesses(const Reader& reader) const;
  [[nodiscard]] std::vector<bool> passing_rows() const;
  void mark();
  void order_growing_tables();

  MappedFile file_;
  Header header_;
  std::span<const std::uint64_t> begin_;
  std::span<const std::uint64_t> first_access_;
  std::span<const std::uint32_t> row_;
  std::span<const std::uint32_t> session_;
  std::span<const std::uint16_t> access_;
  std::span<const std::uint16_t> type_;
  std::span<const std::uint8_t> rolls_back_;
  std::span<const std::uint8_t> born_;
  std::vector<std::uint8_t> marks_;     ///< by access
  std::vector<std::uint64_t> of_type_;  ///< number of transactions, by type
};

}  // namespace heddle::replay
