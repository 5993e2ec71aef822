#pragma once

#include <pybind11/pybind11.h>

namespace heddle {

void bind_classifier(pybind11::module_& module);

}  // namespace heddle
