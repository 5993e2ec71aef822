#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/pages.h"
#include "model/random.h"
#include "workload/ycsb/inputs.h"
#include "workload/ycsb/options.h"

namespace heddle::ycsb {

/// Inputs drawn before any run, the same number for each worker, which takes them in turn and
/// starts over after the last: as in the drivers of DBx1000 and others, in which transactions have
/// no cost for drawing.
class DrawnInputs {
 public:
  DrawnInputs(const InputGenerator& generator, const YcsbOptions& options, int workers,
              std::uint64_t seed)
      : operations_of_one_(static_cast<std::size_t>(options.operations)),
        end_(static_cast<std::size_t>(options.drawn) * operations_of_one_),
        operations_(end_ * static_cast<std::size_t>(workers)),
        next_(static_cast<std::size_t>(workers)) {
    Input input;
    for (int worker = 0; worker < workers; ++worker) {
      Random random = Random::stream(seed, static_cast<std::uint64_t>(worker));
      for (Operation* at = first_of(worker); at != first_of(worker) + end_; at += input.count) {
        generator.generate(random, worker, input);
        std::copy_n(input.operations.begin(), input.count, at);
      }
    }
  }

  /// Copies the worker's next input to `input`.
  void take(int worker, Input& input) {
    std::size_t& next = next_[static_cast<std::size_t>(worker)].at;
    input.count = static_cast<std::uint32_t>(operations_of_one_);
    std::copy_n(first_of(worker) + next, operations_of_one_, input.operations.begin());
    next += operations_of_one_;
    if (next == end_) next = 0;
  }

 private:
  /// A worker writes only its own.
  struct alignas(64) Next {
    std::size_t at = 0;
  };

  Operation* first_of(int worker) {
    return operations_.begin() + static_cast<std::size_t>(worker) * end_;
  }

  std::size_t operations_of_one_;
  std::size_t end_;  ///< operations per worker
  PageArray<Operation> operations_;
  std::vector<Next> next_;
};

}  // namespace heddle::ycsb
