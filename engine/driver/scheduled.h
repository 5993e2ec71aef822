#pragma once

#include <type_traits>

#include "driver/admission.h"
#include "driver/worker.h"
#include "model/hints.h"

namespace heddle {

/// Transactions start as an admission policy says; where none is given, as they are drawn.
template <class M, class W>
class Scheduled : public Admission<M, W> {
 public:
  template <class Setup>
  explicit Scheduled(const Setup& setup)
      : Admission<M, W>(setup.admission, setup.workload, setup.member.worker(), setup.workers,
                        static_cast<int>(setup.measurements.by_type.size()), setup.seed) {}
};

/// What schedules a workload's transactions, if they pass hints.
template <class M, class W>
using SchedulingOf = std::conditional_t<HasHints<W>, Scheduled<M, W>, Unscheduled>;

}  // namespace heddle
