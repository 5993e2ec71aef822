#pragma once

#include <rocksdb/write_batch.h>

#include <cstddef>

#include "store/filler.h"
#include "store/rocksdb/database.h"

namespace heddle::store {

/// Fills a database without a log; it is on disk, or of no use, when it has committed.
class BatchFiller final : public Filler {
 public:
  explicit BatchFiller(RocksdbDatabase& database) : database_(database) {}

  void put(std::size_t table, Bytes key, Bytes value) override;
  void commit() override;

 private:
  void flush();

  RocksdbDatabase& database_;
  rocksdb::WriteBatch batch_;
};

}  // namespace heddle::store
