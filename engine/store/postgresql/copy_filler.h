#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/filler.h"
#include "store/postgresql/address.h"
#include "store/postgresql/handle.h"
#include "store/store.h"

namespace heddle::store {

/// Creates the tables and fills them with COPY, in one transaction.
class CopyFiller final : public Filler {
 public:
  /// @param schema the schema of the tables, in SQL
  /// @throws std::runtime_error naming the server and the cure
  CopyFiller(const StoreSetup& setup, const Address& address, ServerWaits& waits,
             const std::string& schema);

  void put(std::size_t table, Bytes key, Bytes value) override;
  void commit() override;

 private:
  void begin_copy(std::size_t table);
  void end_copy();
  void add(Bytes field);
  void flush();
  /// Calls a function of libpq that sends, until it has accepted all. False: it has failed.
  template <class Send>
  bool send(Send call);
  [[nodiscard]] Caller caller() { return {client_.get(), address_, waits_}; }

  Address address_;
  ServerWaits& waits_;
  Client client_;
  std::vector<std::string> tables_;  ///< in SQL
  std::size_t copied_;               ///< the table that is being copied; their number: none
  std::string buffer_;
};

}  // namespace heddle::store
