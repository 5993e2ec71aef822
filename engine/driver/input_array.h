#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "model/inputs.h"

namespace heddle {

/// Memory for several inputs of a workload, each constructed and ready to be drawn into.
class InputArray {
 public:
  InputArray(const Inputs& inputs, std::size_t count)
      : stride_(inputs.input_bytes() / sizeof(std::uint64_t)),
        words_(new std::uint64_t[stride_ * count]) {
    for (std::size_t at = 0; at < count; ++at) inputs.make_input((*this)[at]);
  }

  [[nodiscard]] std::byte* operator[](std::size_t at) {
    return reinterpret_cast<std::byte*>(words_.get() + stride_ * at);
  }

 private:
  std::size_t stride_;
  std::unique_ptr<std::uint64_t[]> words_;
};

}  // namespace heddle
