#include "store/rocksdb/handle.h"

#include <algorithm>
#include <stdexcept>

namespace heddle::store {

namespace {

const char* cure_of(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return "free space there, or name a folder on another disk with folder=";
  if (status.IsMemoryLimit()) return "use fewer workers, or a machine with more memory";
  return "check that disk, or name a folder on another one with folder=";
}

}  // namespace

Status status_of(const rocksdb::Status& status) {
  switch (status.code()) {
    case rocksdb::Status::kOk: return Status::ok;
    case rocksdb::Status::kNotFound: return Status::absent;
    case rocksdb::Status::kBusy:
      return status.subcode() == rocksdb::Status::kDeadlock ? Status::deadlock : Status::conflict;
    // Its writes in memory do not reach back to what the transaction has read.
    case rocksdb::Status::kTryAgain: return Status::conflict;
    case rocksdb::Status::kTimedOut: return Status::busy;
    default: return Status::lost;
  }
}

std::string describe_error(const rocksdb::Status& status, const std::string& folder) {
  std::string text = status.ToString();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "store rocksdb: " + text + " (" + folder + "); " + cure_of(status);
}

void require(const rocksdb::Status& status, const std::string& folder) {
  if (!status.ok()) throw std::runtime_error(describe_error(status, folder));
}

}  // namespace heddle::store
