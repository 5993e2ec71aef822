#include "check/transactions.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "check/graph.h"

namespace heddle::check {

Transactions::Transactions(const History& history)
    : history_(history), published_(history.workers.size()) {
  std::size_t attempts = 0;
  for (const WorkerLog& log : history.workers) attempts += log.attempts.size();
  if (attempts >= Edge::kMostNodes) {
    throw std::invalid_argument("a history of " + std::to_string(attempts) +
                                " attempts is too long to be checked; the most is " +
                                std::to_string(Edge::kMostNodes - 1));
  }
  nodes_.reserve(attempts);
  std::size_t chunks = 0;
  for (const WorkerLog& log : history.workers) chunks += log.operations.chunks();
  if (chunks > Place::kMostOperations >> Chunked<Operation>::kChunkBits) {
    throw std::invalid_argument("a history has too many operations to be checked");
  }
  for (std::uint32_t worker = 0; worker < history.workers.size(); ++worker) {
    const WorkerLog& log = history.workers[worker];
    const std::uint64_t begin = chunks_.size() << Chunked<Operation>::kChunkBits;
    for (std::size_t chunk = 0; chunk < log.operations.chunks(); ++chunk) {
      chunks_.push_back(log.operations.chunk(chunk));
    }
    for (std::uint32_t at = 0; at < log.attempts.size(); ++at) {
      const Attempt& attempt = log.attempts[at];
      const bool ended = attempt.end != End::aborted;
      if (attempt.incarnation != 0) {
        published_[worker].push_back({attempt.incarnation, at, ended ? size() : kNone});
      }
      if (ended) nodes_.push_back({begin + attempt.first, worker, at});
    }
  }
}

Transactions::Writer Transactions::writer_of(const Dirty& dirty) const {
  if (dirty.worker >= published_.size()) return {};
  const auto& published = published_[dirty.worker];
  const auto found = std::lower_bound(published.begin(), published.end(), dirty.incarnation,
                                      [](const Published& one, std::uint64_t incarnation) {
                                        return one.incarnation < incarnation;
                                      });
  if (found == published.end() || found->incarnation != dirty.incarnation) return {};
  return {.node = found->node, .attempt = found->attempt, .known = true};
}

}  // namespace heddle::check
