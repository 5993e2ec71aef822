#pragma once

#include <cstdint>

#include "machine/shared.h"
#include "machine/signal.h"
#include "protocol/lock_age.h"
#include "storage/record.h"

namespace heddle {

/// A worker's state in the lock table.
template <class M>
struct alignas(64) LockOwner {
  Signal<M> granted;                   ///< advances with every wait that others end
  Shared<M, std::uint64_t> waits_for;  ///< owner number + 1 of a blocker, for diagnosis
  int worker = 0;
  int type = 0;                  ///< of its transaction
  std::uint32_t held = 0;        ///< locks that its transaction holds
  typename M::Ticks waited = 0;  ///< since the owner last reset it
  // The rest belongs to the owner itself; what a graph of waits knows of it is in WaitGraph.
  std::uint64_t before_wait = 0;     ///< `granted` when the present wait began
  typename M::Ticks granted_at = 0;  ///< end of its attempt's last wait; 0: it had none
  bool is_victim = false;  ///< of a deadlock; written by others, before `granted` advances
};

/// One transaction's request for one record. It belongs to its transaction.
template <class M>
struct alignas(64) LockRequest {
  LockRequest* previous = nullptr;
  LockRequest* next = nullptr;
  Record<M>* record = nullptr;
  LockOwner<M>* owner = nullptr;
  LockAge age;
  bool exclusive = false;
  bool granted = false;
  bool upgrading = false;   ///< granted shared, waiting for exclusive; no new request passes it
  std::uint8_t wait = 0;    ///< the kind of its wait, for LockTable
  std::uint32_t queue = 0;  ///< number + 1 of the record's queue in WaitGraph; 0: nothing waits
};

}  // namespace heddle
