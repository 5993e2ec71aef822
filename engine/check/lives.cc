#include "check/lives.h"

#include <algorithm>

namespace heddle::check {

namespace {

/// The limit on doubtful lives examined for one miss or one other life.
constexpr std::size_t kMostDoubts = 64;

/// Transactions::kNone has no place in an edge; the edge will have no effect.
Edge edge_or_none(std::uint32_t from, std::uint32_t to, Why why) {
  return from == Transactions::kNone || to == Transactions::kNone ? Edge(0, 0, why)
                                                                  : Edge(from, to, why);
}

}  // namespace

void Lives::add(std::uint32_t key, std::vector<LifeInRecord>& lives) {
  if (lives.size() > 1) {
    std::sort(lives.begin(), lives.end(), [](const LifeInRecord& a, const LifeInRecord& b) {
      return a.life.middle() < b.life.middle();
    });
  }
  std::uint64_t all_begun_by = 0;
  for (const auto& [life, place, number] : lives) {
    all_begun_by = std::max(all_begun_by, life.began_by);
    lives_.push_back({life, all_begun_by, life.ended_from, life.began_by});
  }
  first_[std::size_t{key} + 1] = lives_.size();
  for (std::size_t at = lives_.size(); at > first_[key] + 1; --at) {
    Placed& one = lives_[at - 2];
    const Placed& next = lives_[at - 1];
    one.none_ended_before = std::min(one.none_ended_before, next.none_ended_before);
    one.one_begun_by = std::min(one.one_begun_by, next.one_begun_by);
  }
  order(key, lives);
}

/// Orders a row's lives. Not every pair needs an edge: the order is transitive.
void Lives::order(std::uint32_t key, const std::vector<LifeInRecord>& told) {
  const auto placed = of(key);
  for (std::size_t at = 0; at + 1 < placed.size(); ++at) {
    const Life& one = placed[at].life;
    std::uint64_t next_began_by = 0;  // 0: no definite successor yet
    const std::size_t end = std::min(placed.size(), at + 1 + kMostDoubts);
    for (std::size_t later = at + 1; later < end; ++later) {
      if (next_began_by != 0 && placed[later].none_ended_before >= next_began_by &&
          placed[later].one_begun_by > one.ended_from) {
        break;
      }
      const Life& two = placed[later].life;
      const bool one_first = one.may_precede(two);
      const bool two_first = two.may_precede(one);
      if (told[at].place == told[later].place) {
        // Their versions have decided it.
        if (told[at].number > told[later].number) continue;
      } else if (!one_first && !two_first) {
        report(key, "inserted although it existed", {one.first, one.last, two.first, two.last});
      } else {
        choose(one_first, edge_or_none(one.last, two.first, Why::ww), two_first,
               edge_or_none(two.last, one.first, Why::ww));
        if (two_first) continue;
      }
      if (next_began_by == 0 || two.began_by < next_began_by) next_began_by = two.began_by;
    }
  }
}

/// Of the lives that the clock puts before the miss, and of those after it, the ones next to it are
/// enough.
void Lives::place(const Miss& miss) {
  const auto lives = of(miss.key);
  if (lives.empty()) return;
  const auto first_in_doubt = static_cast<std::size_t>(
      std::partition_point(lives.begin(), lives.end(),
                           [&](const Placed& one) { return one.all_begun_by <= miss.from; }) -
      lives.begin());
  const auto first_behind = static_cast<std::size_t>(
      std::partition_point(lives.begin(), lives.end(),
                           [&](const Placed& one) { return one.none_ended_before < miss.to; }) -
      lives.begin());
  std::uint64_t ended_from = 0;
  for (std::size_t at = first_in_doubt; at > 0; --at) {
    if (at < first_in_doubt && lives[at - 1].all_begun_by <= ended_from) break;
    place_beside(miss, lives[at - 1].life);
    ended_from = std::max(ended_from, lives[at - 1].life.ended_from);
  }
  const std::size_t in_doubt_end = std::min(first_behind, first_in_doubt + kMostDoubts);
  for (std::size_t at = first_in_doubt; at < in_doubt_end; ++at) {
    place_beside(miss, lives[at].life);
  }
  std::uint64_t began_by = Life::kForever * 2;
  for (std::size_t at = std::max(first_in_doubt, first_behind); at < lives.size(); ++at) {
    if (lives[at].none_ended_before >= began_by) break;
    place_beside(miss, lives[at].life);
    began_by = std::min(began_by, lives[at].life.began_by);
  }
}

void Lives::place_beside(const Miss& miss, const Life& life) {
  const bool deleted = miss.node == life.last;
  // It missed the row and then inserted it, or deleted it before it read.
  if (miss.node == life.first || (deleted && !miss.then_changed)) return;
  const Why before = miss.by_range ? Why::predicate : Why::rw;
  const bool may_precede = life.first != Transactions::kNone && miss.from < life.began_by;
  const bool may_follow = life.last != Transactions::kNone && !deleted && life.ended_from < miss.to;
  if (may_precede || may_follow) {
    choose(may_precede, edge_or_none(miss.node, life.first, before), may_follow,
           edge_or_none(life.last, miss.node, Why::wr));
  } else {
    report(miss.key, "missed although it existed all the time", {miss.node, life.first, life.last});
  }
}

/// Adds the edge that the clock allows; if it allows both, keeps the choice.
void Lives::choose(bool one_may, const Edge& one, bool other_may, const Edge& other) {
  if (one_may && other_may) {
    if (one.from() == one.to() || other.from() == other.to()) return;
    ++choices_;
    serialization_.add_choice(one, other);
  } else {
    const Edge& edge = one_may ? one : other;
    serialization_.add(edge.from(), edge.to(), edge.why());
  }
}

void Lives::report(std::uint32_t key, const char* what, const std::vector<std::uint32_t>& nodes) {
  const KeyGroups::Key& row = keys_.key(key);
  findings_.add("impossible", findings_.words().row(row.table, row.word) + " was " + what, nodes);
}

}  // namespace heddle::check
