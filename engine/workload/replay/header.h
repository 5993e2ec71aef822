#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle::replay {

/// The operation of a trace's access on its table.
enum class Act : std::uint8_t { read, update, insert, remove, scan };

/// One access of a transaction type.
struct Step {
  Act act = Act::read;
  std::uint16_t table = 0;
  AccessId state = 0;  ///< its first; a removal has another for the read before it
};

struct TableSpec {
  std::string name;
  std::uint64_t rows = 0;        ///< number of all rows that ever exist
  std::uint64_t first_born = 0;  ///< start of its rows in the program's array `born`
  bool ordered = false;          ///< it is scanned, or it grows
};

/// The meaning of the numbers in a replay program: the file's JSON header, see `Program`.
struct Header {
  std::uint64_t transactions = 0;
  std::uint64_t accesses = 0;
  std::uint64_t sessions = 0;
  std::uint64_t rows = 0;  ///< of all tables
  std::vector<TableSpec> tables;
  std::vector<std::vector<Step>> steps;  ///< by type
  Signature signature;

  /// Throws std::invalid_argument naming the file and the invalid key.
  static Header parse(const std::string& path, std::string_view text);
};

}  // namespace heddle::replay
