#pragma once

#include <pybind11/pybind11.h>

namespace heddle {

void bind_schedule(pybind11::module_& module);

}  // namespace heddle
