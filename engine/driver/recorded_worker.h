#pragma once

#include <memory>

#include "driver/worker.h"

namespace heddle {

/// Runs a worker whose transactions are written down in a `Record` (RecordedHistory,
/// RecordedTrace), to the end.
///
/// Defined in recorded_worker_instance.h, for a source file of its own: in one with the others the
/// compiler would share what it is willing to inline between the two, and a run that nobody records
/// would be the slower for it (1.5 % more instructions a transaction).
/// @param keeper is given the worker before it begins
template <class M, class W, class P, class Record>
void run_recorded_worker(const WorkerSetup<M, W, P>& setup, Record& record,
                         std::shared_ptr<void>& keeper);

}  // namespace heddle
