#pragma once

#include "protocol/outcome.h"

namespace heddle::ycsb {

/// The states of the only transaction type. Operations come in random order, so each is a loop.
enum State : AccessId {
  kRead,
  kRmwRead,
  kRmwUpdate,
  kScan,
  kInsert,
  kRemoveRead,
  kRemove,
};

}  // namespace heddle::ycsb
