#include "schedule/orientations.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace heddle::schedule {

namespace {

constexpr std::size_t kEdgesMax = std::size_t{1} << 26;
constexpr std::uint8_t kAfterFirst = 1;
constexpr std::uint8_t kBeforeLast = 2;
constexpr std::uint8_t kInside = kAfterFirst | kBeforeLast;

/// The transactions that access a key, in the order of the batch.
struct KeyUsers {
  std::vector<std::uint32_t> readers;  // those that do not write it
  std::vector<std::uint32_t> writers;
};

std::vector<KeyUsers> users_by_key(const Batch& batch) {
  std::vector<KeyUsers> users(batch.key_count());
  const auto note = [](std::vector<std::uint32_t>& list, std::uint32_t transaction) {
    if (list.empty() || list.back() != transaction) list.push_back(transaction);
  };
  for (std::uint32_t transaction = 0; transaction < batch.size(); ++transaction) {
    for (const auto [access, key] : batch[transaction]) {
      if (access == Access::kWrite) note(users[key].writers, transaction);
    }
    for (const auto [access, key] : batch[transaction]) {
      if (access != Access::kRead) continue;
      const auto& writers = users[key].writers;
      if (writers.empty() || writers.back() != transaction) note(users[key].readers, transaction);
    }
  }
  return users;
}

}  // namespace

ConflictGraph::ConflictGraph(const Batch& batch) : neighbours_(batch.size()) {
  std::size_t links = 0;
  const auto link = [&](std::uint32_t one, std::uint32_t other) {
    neighbours_[one].push_back(other);
    neighbours_[other].push_back(one);
    if (++links > kEdgesMax) {
      throw std::invalid_argument("more than " + std::to_string(kEdgesMax) +
                                  " conflicts: take fewer transactions");
    }
  };
  for (const KeyUsers& users : users_by_key(batch)) {
    for (std::size_t at = 0; at < users.writers.size(); ++at) {
      for (std::size_t next = at + 1; next < users.writers.size(); ++next) {
        link(users.writers[at], users.writers[next]);
      }
      for (const std::uint32_t reader : users.readers) link(users.writers[at], reader);
    }
  }
  for (std::uint32_t transaction = 0; transaction < size(); ++transaction) {
    std::vector<std::uint32_t>& list = neighbours_[transaction];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const std::uint32_t other : list) {
      if (transaction < other) edges_.push_back({transaction, other});
    }
  }
}

OrientationWalk::OrientationWalk(const ConflictGraph& graph, std::uint64_t seed)
    : graph_(&graph),
      random_(seed),
      order_(graph.size()),
      place_(graph.size()),
      marks_(graph.size()) {
  std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  std::iota(place_.begin(), place_.end(), std::uint32_t{0});
}

void OrientationWalk::mark_reachable(std::uint32_t from, std::uint32_t least, std::uint32_t most,
                                     bool forward, std::uint8_t bit) {
  stack_.assign(1, from);
  marks_[from] |= bit;
  while (!stack_.empty()) {
    const std::uint32_t transaction = stack_.back();
    stack_.pop_back();
    for (const std::uint32_t next : graph_->neighbours(transaction)) {
      const std::uint32_t place = place_[next];
      if ((place > place_[transaction]) != forward || place < least || place > most) continue;
      if ((marks_[next] & bit) != 0) continue;
      marks_[next] |= bit;
      stack_.push_back(next);
    }
  }
}

void OrientationWalk::step() {
  if (graph_->edge_count() == 0 || random_.below(2) == 0) return;
  const auto [one, other] = graph_->edge(random_.below(graph_->edge_count()));
  const bool as_written = place_[one] < place_[other];
  const std::uint32_t first = as_written ? one : other;
  const std::uint32_t last = as_written ? other : one;
  const std::uint32_t least = place_[first];
  const std::uint32_t most = place_[last];
  mark_reachable(first, least, most, true, kAfterFirst);
  mark_reachable(last, least, most, false, kBeforeLast);

  // The new order: transactions that need not come after the first stay before the interval, the
  // interval is reversed, and the remaining ones that come after the first follow.
  Order before;
  Order inside;
  Order after;
  for (std::uint32_t place = least; place <= most; ++place) {
    const std::uint32_t transaction = order_[place];
    const std::uint8_t marks = marks_[transaction];
    (marks == kInside             ? inside
     : (marks & kAfterFirst) != 0 ? after
                                  : before)
        .push_back(transaction);
    marks_[transaction] = 0;
  }
  std::reverse(inside.begin(), inside.end());
  std::uint32_t place = least;
  for (const Order* part : {&before, &inside, &after}) {
    for (const std::uint32_t transaction : *part) {
      order_[place] = transaction;
      place_[transaction] = place++;
    }
  }
}

}  // namespace heddle::schedule
