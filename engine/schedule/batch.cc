#include "schedule/batch.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace heddle::schedule {

void Batch::add(std::span<const Operation> transaction) {
  if (transaction.empty()) {
    throw std::invalid_argument("transaction " + std::to_string(size()) + " has no operation");
  }
  if (transaction.size() > kOperationsMax - operations_.size()) {
    throw std::invalid_argument("more than " + std::to_string(kOperationsMax) + " operations");
  }
  for (const Operation& operation : transaction) {
    if (operation.access == Access::kFiller) continue;
    if (operation.key == std::numeric_limits<std::uint32_t>::max()) {
      throw std::invalid_argument("keys are numbered below 2^32 - 1");
    }
    key_count_ = std::max(key_count_, operation.key + 1);
  }
  operations_.insert(operations_.end(), transaction.begin(), transaction.end());
  begins_.push_back(operations_.size());
}

}  // namespace heddle::schedule
