#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include "observe/history.h"

namespace heddle {

/// A history that Python holds.
struct HistoryHandle {
  std::shared_ptr<const check::History> history;
};

void bind_history(pybind11::module_& module);

}  // namespace heddle
