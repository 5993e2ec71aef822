#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include "observe/recorded_trace.h"

namespace heddle {

/// A trace that Python holds.
struct RecordedTraceHandle {
  std::shared_ptr<const RecordedTrace> trace;
};

void bind_recorded_trace(pybind11::module_& module);

}  // namespace heddle
