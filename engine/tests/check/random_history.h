#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "check/history_builder.h"
#include "model/random.h"
#include "observe/history.h"

namespace heddle::check {

/// Small histories of a faulty engine: transactions run interleaved over a few rows, and are
/// validated sometimes. Then a part of the history may be changed, so that it was never run at all.
class RandomHistory {
 public:
  explicit RandomHistory(std::uint64_t seed)
      : random_(seed),
        churns_(chance(2)),
        keys_(1 + random_.below(churns_ ? 2 : 4)),
        careful_(random_.below(3) * 5),
        slack_(random_.below(3) * (churns_ ? 15 : 4)),
        rows_(keys_),
        width_(chance(20) ? 33 : 1) {
    for (auto& states : rows_) {
      if (chance(2)) states.push_back({0, true, new_place(), version(0)});
    }
    drafts_.resize(2 + random_.below(6));
    const std::uint64_t at_once = 1 + random_.below(6);
    std::size_t next = 0;
    std::vector<std::size_t> active;
    while (next < drafts_.size() || !active.empty()) {
      ++now_;
      if (next < drafts_.size() && active.size() < at_once && random_.below(2) == 0) {
        begin(drafts_[next]);
        active.push_back(next++);
        continue;
      }
      if (active.empty()) continue;
      const std::size_t chosen = random_.below(active.size());
      Draft& draft = drafts_[active[chosen]];
      if (draft.steps-- > 0) {
        step(draft);
        continue;
      }
      end(draft);
      active.erase(active.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    if (random_.below(3) == 0) mutate();
  }

  [[nodiscard]] History history() const {
    History history;
    history.tables = {"rows"};
    history.types = {"type"};
    history.first_version = version(0) + 1;
    history.workers.resize(drafts_.size());
    for (std::size_t worker = 0; worker < drafts_.size(); ++worker) {
      for (const Operation& one : drafts_[worker].operations) {
        add_wide(history.workers[worker].operations, one);
      }
      Attempt attempt = drafts_[worker].attempt;
      attempt.operations = static_cast<std::uint32_t>(history.workers[worker].operations.size());
      history.workers[worker].attempts.push_back(attempt);
    }
    return history;
  }

 private:
  /// The state of a row from some moment on.
  struct State {
    std::uint64_t since;
    bool there;
    std::uint64_t place;
    std::uint64_t version;
  };
  struct Own {
    std::size_t slot;
    bool there;
    bool believed_there;  ///< before it changed the row
    std::uint32_t writes;
  };
  struct Draft {
    Attempt attempt;
    std::vector<Operation> operations;
    std::map<std::uint64_t, Own> own;
    std::vector<std::pair<std::uint64_t, State>> seen;
    std::uint64_t steps = 0;
    std::uint64_t past = 0;
    bool active = false;
  };

  static constexpr std::uint64_t kSlack = 40;  // so that no clock is below 0

  /// Each row stands for several with the same history: the checker handles many together.
  void add_wide(Chunked<Operation>& to, Operation one) const {
    if (one.kind == Kind::range) {
      one.key = (one.key - 1) * width_ + 1;
      one.place *= width_;
      one.digest *= static_cast<std::uint32_t>(width_);
      to.push_back(one);
      return;
    }
    const Operation narrow = one;
    for (std::uint64_t at = 0; at < width_; ++at) {
      one.key = (narrow.key - 1) * width_ + 1 + at;
      one.place = narrow.place * width_ + at;
      to.push_back(one);
    }
  }

  bool chance(std::uint64_t in) { return random_.below(in) == 0; }
  std::uint64_t new_place() {
    numbers_.push_back(random_.below(5));
    return numbers_.size();
  }

  State state_at(std::uint64_t key, std::uint64_t time) const {
    State state{0, false, 0, 0};
    for (const State& one : rows_[key]) {
      if (one.since <= time) state = one;
    }
    return state;
  }

  // ---- an engine -------------------------------------------------------------------------------

  void begin(Draft& draft) {
    draft.active = true;
    draft.steps = 1 + random_.below(4);
    draft.attempt.began = now_ + kSlack - random_.below(slack_ + 1);
    draft.attempt.incarnation = 1;
    draft.attempt.on_snapshot = chance(8);
    draft.past = random_.below(now_ + 1);
    draft.attempt.end = chance(8) ? End::rolled_back : End::committed;
  }

  /// The state that a transaction reads; sometimes one that it should not.
  State shown(const Draft& draft, std::uint64_t key) {
    if (draft.attempt.on_snapshot) {
      return state_at(key, careful_ == 0 && chance(4) ? random_.below(now_) : draft.past);
    }
    if (careful_ == 0 && chance(10)) return state_at(key, random_.below(now_));
    return state_at(key, now_);
  }

  void step(Draft& draft) {
    const std::uint64_t key = random_.below(keys_);
    const std::uint64_t kind = random_.below(draft.attempt.on_snapshot ? 5 : 10);
    if (kind < 3) return look(draft, key, 0);
    if (kind < 5) return look_at_range(draft);
    if (kind < 6 && draft.own.count(key) == 0 && read_dirty(draft, key)) return;
    change(draft, key, churns_ ? chance(2) : kind != 9);
  }

  void add(Draft& draft, Kind kind, std::uint64_t key, const State& state, std::uint8_t flags) {
    Operation one = operation(kind, {key + 1, state.place}, state.version);
    if (kind == Kind::miss) {
      one.version = now_ + kSlack - random_.below(slack_ + 1);
      one.place = 0;
    }
    one.flags = flags & 15;
    draft.operations.push_back(one);
  }

  void look(Draft& draft, std::uint64_t key, std::uint8_t flags) {
    const auto own = draft.own.find(key);
    if (own != draft.own.end()) {
      const auto own_flags = static_cast<std::uint8_t>(flag::kOwn | flags);
      if (own->second.there) add(draft, Kind::read, key, {}, own_flags);
      return;
    }
    const State state = shown(draft, key);
    draft.seen.emplace_back(key, state);
    if (state.there) {
      add(draft, Kind::read, key, state, flags);
    } else if (flags == 0) {
      add(draft, Kind::miss, key, state, 0);
    }
  }

  void look_at_range(Draft& draft) {
    const std::uint64_t first = random_.below(keys_);
    const std::uint64_t last = first + random_.below(keys_ - first);
    const std::size_t at = draft.operations.size();
    draft.operations.push_back(
        operation(Kind::range, {first + 1, last + 1}, now_ + kSlack - random_.below(slack_ + 1)));
    for (std::uint64_t key = first; key <= last; ++key) look(draft, key, flag::kOfRange);
    draft.operations[at].digest = static_cast<std::uint32_t>(draft.operations.size() - at - 1);
  }

  bool read_dirty(Draft& draft, std::uint64_t key) {
    for (const Draft& other : drafts_) {
      const auto own = other.own.find(key);
      if (&other == &draft || !other.active || own == other.own.end() || !own->second.there) {
        continue;
      }
      Operation one = operation(Kind::read, {key + 1, state_at(key, now_).place}, 0);
      one.version =
          Dirty{static_cast<std::uint32_t>(&other - drafts_.data()), 1, own->second.writes}
              .packed();
      one.flags = flag::kUncommitted;
      draft.operations.push_back(one);
      return true;
    }
    return false;
  }

  void change(Draft& draft, std::uint64_t key, bool writes) {
    auto own = draft.own.find(key);
    if (own == draft.own.end()) {
      if (chance(2)) look(draft, key, 0);
      const bool there = state_at(key, now_).there;
      if (!writes && !there) return;
      own = draft.own.emplace(key, Own{draft.operations.size(), there, there, 0}).first;
      draft.seen.emplace_back(key, state_at(key, now_));
      draft.operations.emplace_back();
    }
    own->second.there = writes;
    ++own->second.writes;
  }

  void end(Draft& draft) {
    const bool stale = std::any_of(draft.seen.begin(), draft.seen.end(), [this](const auto& seen) {
      const State now = state_at(seen.first, now_);
      return now.place != seen.second.place || now.version != seen.second.version;
    });
    const bool validated = careful_ != 0 && (careful_ == 10 || !chance(5));
    draft.active = false;
    if (stale && validated && !draft.attempt.on_snapshot) {
      draft.attempt.end = End::aborted;
      draft.operations.clear();
    }
    if (draft.attempt.end != End::aborted) {
      for (const auto& [key, own] : draft.own) leave(draft, key, own);
      std::erase_if(draft.operations, [](const Operation& one) { return one.key == 0; });
    }
    draft.attempt.ended = now_ + kSlack + 1 + random_.below(slack_ + 1);
  }

  void leave(Draft& draft, std::uint64_t key, const Own& own) {
    const State before = state_at(key, now_);
    Operation& one = draft.operations[own.slot];
    if (draft.attempt.end == End::rolled_back || (!before.there && !own.there)) {
      if (own.believed_there) {
        one = operation(own.there ? Kind::write : Kind::remove, {key + 1, before.place}, 0);
        one.flags = flag::kOwn;
      } else {
        one = operation(Kind::miss, {key + 1, 0}, draft.attempt.began);
      }
      return;
    }
    const bool elsewhere = !before.there && (before.place == 0 || churns_ || chance(2));
    const std::uint64_t place = elsewhere ? new_place() : before.place;
    std::uint64_t& number = numbers_[place - 1];
    number += 1 + random_.below(2);
    const std::uint64_t word = version(number, own.writes) | (own.there ? 0 : 2);
    rows_[key].push_back({now_, own.there, place, word});
    one = operation(own.there ? Kind::write : Kind::remove, {key + 1, place}, word);
    if (!before.there) one.flags = flag::kInserted;
  }

  // ---- what was never run ----------------------------------------------------------------------

  /// Replaces an operation in one transaction by a plausible one.
  void mutate() {
    Draft& draft = drafts_[random_.below(drafts_.size())];
    if (draft.operations.empty()) return;
    Operation& one = draft.operations[random_.below(draft.operations.size())];
    if (one.is(flag::kOwn) || one.is(flag::kUncommitted)) return;
    const auto& states = rows_[one.key - 1];
    switch (one.kind) {
      case Kind::read: {
        if (states.empty()) return;
        const State& other = states[random_.below(states.size())];
        one.place = other.place;
        one.version = other.version;
        break;
      }
      case Kind::miss: one.version += random_.below(20); break;
      case Kind::range: one.version += random_.below(20); break;
      case Kind::write:
      case Kind::remove:
        for (Draft& other : drafts_) {
          for (Operation& there : other.operations) {
            if (&there == &one || there.kind != one.kind || there.key != one.key) continue;
            if (there.is(flag::kOwn)) continue;
            std::swap(there.version, one.version);
            if (chance(2)) std::swap(there.place, one.place);
            return;
          }
        }
        break;
      case Kind::broken: break;
    }
  }

  Random random_;
  bool churns_;  ///< mostly inserts and deletes
  std::uint64_t keys_;
  std::uint64_t careful_;  ///< 0: makes mistakes; 5: some; 10: none
  std::uint64_t slack_;    ///< the error of the clocks
  std::uint64_t now_ = 0;
  std::vector<std::vector<State>> rows_;  ///< by key; none: it never existed
  std::uint64_t width_;                 ///< the number of rows of the history that each stands for
  std::vector<std::uint64_t> numbers_;  ///< by place: of its last version
  std::vector<Draft> drafts_;
};

}  // namespace heddle::check
