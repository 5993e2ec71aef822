#include "store/rocksdb/batch_filler.h"

#include "store/rocksdb/handle.h"

namespace heddle::store {

void BatchFiller::put(std::size_t table, Bytes key, Bytes value) {
  constexpr std::size_t kFull = std::size_t{1} << 20;
  require(batch_.Put(stored_key(table, key), slice_of(value)), database_.folder());
  if (batch_.GetDataSize() >= kFull) flush();
}

void BatchFiller::commit() {
  flush();
  require(database_.end_load(), database_.folder());
}

void BatchFiller::flush() {
  require(database_.load(batch_), database_.folder());
  batch_.Clear();
}

}  // namespace heddle::store
