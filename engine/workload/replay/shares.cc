#include "workload/replay/shares.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

namespace heddle::replay {

std::vector<std::uint32_t> session_lengths(const Program& program, int workers) {
  std::vector<std::uint32_t> lengths(program.sessions());
  for (std::size_t i = 0; i < program.transactions(); ++i) ++lengths[program.session(i)];
  const auto without = std::count(lengths.begin(), lengths.end(), 0U);
  const auto sessions = lengths.size() - static_cast<std::size_t>(without);
  if (sessions < static_cast<std::size_t>(workers)) {
    throw std::invalid_argument("the replay program has " + std::to_string(sessions) +
                                " sessions, fewer than the " + std::to_string(workers) +
                                " cores; a session is replayed by one core: take fewer cores, or a "
                                "longer part of the trace");
  }
  return lengths;
}

namespace {

/// The worker of each session.
std::vector<std::uint32_t> deal(const std::vector<std::uint32_t>& lengths, std::uint32_t workers) {
  std::vector<std::uint32_t> longest_first(lengths.size());
  std::iota(longest_first.begin(), longest_first.end(), 0U);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](auto one, auto other) { return lengths[one] > lengths[other]; });
  using Load = std::pair<std::uint64_t, std::uint32_t>;  // transactions, worker
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::uint32_t worker = 0; worker < workers; ++worker) least.emplace(0, worker);
  std::vector<std::uint32_t> owner(lengths.size());
  for (const std::uint32_t session : longest_first) {
    const auto [load, worker] = least.top();
    least.pop();
    owner[session] = worker;
    least.emplace(load + lengths[session], worker);
  }
  return owner;
}

}  // namespace

Shares::Shares(const Program& program, int workers) : shares_(static_cast<std::size_t>(workers)) {
  const std::vector<std::uint32_t> lengths = session_lengths(program, workers);
  const auto owner = deal(lengths, static_cast<std::uint32_t>(workers));
  for (std::size_t i = 0; i < program.transactions(); ++i) {
    shares_[owner[program.session(i)]].transactions.push_back(static_cast<std::uint32_t>(i));
  }
}

}  // namespace heddle::replay
