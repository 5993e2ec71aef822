#pragma once

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "store/connection.h"

namespace heddle::store {

/// What a status of RocksDB means for the transaction.
[[nodiscard]] Status status_of(const rocksdb::Status& status);

/// What is wrong, where, and what would help, in one line.
[[nodiscard]] std::string describe_error(const rocksdb::Status& status, const std::string& folder);

/// @throws std::runtime_error naming the folder and the cure
void require(const rocksdb::Status& status, const std::string& folder);

[[nodiscard]] inline rocksdb::Slice slice_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
[[nodiscard]] inline Bytes bytes_of(const rocksdb::Slice& slice) {
  return {reinterpret_cast<const std::byte*>(slice.data()), slice.size()};
}

/// All tables are in one sequence of keys: those of a table begin with its number, big-endian.
inline constexpr std::size_t kTableBytes = sizeof(std::uint16_t);

[[nodiscard]] inline std::string stored_key(std::size_t table, Bytes key) {
  std::string stored{static_cast<char>(table >> 8), static_cast<char>(table)};
  stored.append(reinterpret_cast<const char*>(key.data()), key.size());
  return stored;
}

}  // namespace heddle::store
