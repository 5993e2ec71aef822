#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle::taobench {

/// In the order of their states; the last two only read.
enum class Type : std::uint8_t { write, write_txn, read, read_txn };
inline constexpr std::size_t kTypes = 4;
inline constexpr std::size_t kWritingTypes = 2;
inline constexpr std::array<std::string_view, kTypes> kTypeNames{"write", "write_txn", "read",
                                                                 "read_txn"};

/// A two-way edge is two rows, and a loop. The operations of a transaction with several come in any
/// order, so each of them is a loop there.
enum State : AccessId {
  kWriteReadObject,
  kWriteUpdateObject,
  kWriteReadEdge,
  kWriteUpdateEdge,

  kWriteTxnReadObject,
  kWriteTxnReadEdge,
  kWriteTxnRmwReadObject,
  kWriteTxnRmwUpdateObject,
  kWriteTxnRmwReadEdge,
  kWriteTxnRmwUpdateEdge,

  kReadObject,
  kReadEdge,
  kReadScanEdges,

  kReadTxnReadObject,
  kReadTxnReadEdge,
};

/// The signature of all four types.
[[nodiscard]] inline Signature signature() {
  using enum AccessKind;
  return {
      "taobench",
      {{"write",
        {{"read_object", "OBJECTS", read},
         {"update_object", "OBJECTS", update},
         {"read_edge", "EDGES", read, true},
         {"update_edge", "EDGES", update, true}}},
       {"write_txn",
        {{"read_object", "OBJECTS", read, true},
         {"read_edge", "EDGES", read, true},
         {"rmw_read_object", "OBJECTS", read, true},
         {"rmw_update_object", "OBJECTS", update, true},
         {"rmw_read_edge", "EDGES", read, true},
         {"rmw_update_edge", "EDGES", update, true}}},
       {"read",
        {{"read_object", "OBJECTS", read},
         {"read_edge", "EDGES", read},
         {"scan_edges", "EDGES", scan}}},
       {"read_txn", {{"read_object", "OBJECTS", read, true}, {"read_edge", "EDGES", read, true}}}}};
}

}  // namespace heddle::taobench
