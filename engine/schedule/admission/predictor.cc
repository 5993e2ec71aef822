#include "schedule/admission/predictor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/admission/frequent_keys.h"
#include "schedule/classifier/nearest_rows.h"

namespace heddle::admission {

namespace {

class ByCounting : public Predictor {
 public:
  ByCounting(const HintedStates& states, double share) : states_(states), frequent_(share) {}

  void predict(std::size_t /*type*/, const Hints& hints, Operations& operations) override {
    frequent_.next_transaction();
    std::size_t index = 0;
    for (const Hint& hint : hints) {
      const std::uint64_t hash = states_.hash(hint);
      if (frequent_.count(hash)) {
        operations.add(states_.operation(hint, hash, index, hints.size()));
      }
      ++index;
    }
  }

  void pass() override { frequent_.next_transaction(); }

  void expect(std::size_t /*type*/, const Hints& hints, Hints& rows) override {
    for (const Hint& hint : hints) rows.add(hint.state, hint.key);
  }

 private:
  const HintedStates& states_;
  FrequentKeys frequent_;
};

}  // namespace

/// The heat of keys, by their hash: that of the hottest key of a table is the number of its hot
/// keys, that of the least hot 1, that of any other key 0.
class Heats {
 public:
  explicit Heats(const std::map<std::string, std::vector<std::uint64_t>>& hot_keys) {
    std::size_t count = 0;
    for (const auto& [table, keys] : hot_keys) count += keys.size();
    places_.resize(std::bit_ceil(4 * count + 1));
    for (const auto& [table, keys] : hot_keys) {
      for (std::size_t rank = 0; rank < keys.size(); ++rank) {
        const std::uint64_t hash = HintedStates::hash(table, keys[rank]);
        std::size_t place = hash;
        while (at(place).heat != 0) ++place;
        at(place) = {hash, static_cast<float>(keys.size() - rank)};
      }
    }
  }

  [[nodiscard]] float of(std::uint64_t hash) const {
    for (std::size_t place = hash;; ++place) {
      const Place& found = places_[place & (places_.size() - 1)];
      if (found.hash == hash || found.heat == 0) return found.heat;
    }
  }

 private:
  struct Place {
    std::uint64_t hash = 0;
    float heat = 0;  ///< 0: the slot is free
  };

  Place& at(std::size_t place) { return places_[place & (places_.size() - 1)]; }

  std::vector<Place> places_;  ///< their number is a power of two; at least three quarters are free
};

class ReadyClassifier {
 public:
  /// Scratch memory of lookups, so that a transaction's path allocates nothing.
  struct Scratch {
    std::vector<float> vector;
    std::vector<float> distances;
  };

  ReadyClassifier(const classifier::Classifier& given, const Signature& signature,
                  const HintedStates& states)
      : states_(states), heats_(given.hot_keys), types_(signature.types.size()) {
    const std::map<std::uint64_t, std::uint32_t> slots = slots_of(given);
    for (const classifier::Classifier::Type& type : given.types) {
      Type& ready = types_[type.type].emplace(
          classifier::NearestRows(type.rows, type.labels, given.neighbours));
      for (const auto& cluster : type.clusters) {
        Cluster& made = ready.clusters.emplace_back();
        for (const auto& operation : cluster) {
          const Hint hint{operation.key, operation.state};
          const std::uint64_t hash = states.hash(hint);
          made.rows.push_back(hint);
          Operation known = states.operation(hint, hash, static_cast<float>(operation.place));
          if (const auto slot = slots.find(hash); slot != slots.end()) known.slot = slot->second;
          made.operations.add(known);
        }
      }
    }
  }

  struct Cluster {
    Operations operations;
    std::vector<Hint> rows;
  };

  /// nullptr: nothing is known of the type.
  [[nodiscard]] const Cluster* cluster(std::size_t type, const Hints& hints,
                                       Scratch& scratch) const {
    // A snapshot type is in no signature.
    if (type >= types_.size()) return nullptr;
    const std::optional<Type>& found = types_[type];
    if (!found) return nullptr;
    describe(hints, found->rows.columns(), scratch);
    const int label = found->rows.label(scratch.vector, scratch.distances);
    return &found->clusters[static_cast<std::size_t>(label)];
  }

 private:
  struct Type {
    explicit Type(classifier::NearestRows given) : rows(std::move(given)) {}

    classifier::NearestRows rows;
    std::vector<Cluster> clusters;
  };

  /// All hot keys are known, and there are no more than slots: each has a slot of its own, and none
  /// is mistaken for another.
  static std::map<std::uint64_t, std::uint32_t> slots_of(const classifier::Classifier& given) {
    std::map<std::uint64_t, std::uint32_t> slots;
    for (const auto& [table, keys] : given.hot_keys) {
      for (const std::uint64_t key : keys) {
        slots.emplace(HintedStates::hash(table, key), static_cast<std::uint32_t>(slots.size()));
      }
    }
    return slots;
  }

  /// Computes the metadata vector (classifier::Classifier) of the given length.
  void describe(const Hints& hints, std::size_t length, Scratch& scratch) const {
    scratch.vector.resize(length);
    if (length == 0) return;
    std::array<float, Hints::kMost + 1> loops;  // one more as a sink for values that are not kept
    std::size_t in_loops = 0;
    std::size_t in_none = 0;
    for (const Hint& hint : hints) {
      const float heat = heats_.of(states_.hash(hint));
      if (!states_.is_loop(hint.state)) {
        if (in_none < length) scratch.vector[in_none++] = heat;
      } else {
        // Which keys are hot is unpredictable: no branch.
        loops[in_loops] = heat;
        in_loops += heat != 0 ? 1 : 0;
      }
    }
    std::sort(loops.begin(), loops.begin() + in_loops, std::greater<>());
    in_loops = std::min(in_loops, length - in_none);
    const auto rest = std::copy_n(loops.begin(), in_loops,
                                  scratch.vector.begin() + static_cast<std::ptrdiff_t>(in_none));
    std::fill(rest, scratch.vector.end(), 0.0F);
  }

  const HintedStates& states_;
  Heats heats_;
  std::vector<std::optional<Type>> types_;
};

namespace {

class ByClassifier : public Predictor {
 public:
  explicit ByClassifier(std::shared_ptr<const ReadyClassifier> classifier)
      : classifier_(std::move(classifier)) {}

  void predict(std::size_t type, const Hints& hints, Operations& operations) override {
    const auto* cluster = classifier_->cluster(type, hints, scratch_);
    if (cluster == nullptr) return;
    for (const Operation& operation : cluster->operations) operations.add(operation);
  }

  void expect(std::size_t type, const Hints& hints, Hints& rows) override {
    const auto* cluster = classifier_->cluster(type, hints, scratch_);
    if (cluster == nullptr) return;
    for (const Hint& row : cluster->rows) rows.add(row.state, row.key);
  }

 private:
  std::shared_ptr<const ReadyClassifier> classifier_;
  ReadyClassifier::Scratch scratch_;
};

}  // namespace

std::unique_ptr<Predictor> by_counting(const HintedStates& states, double share) {
  return std::make_unique<ByCounting>(states, share);
}

std::shared_ptr<const ReadyClassifier> make_ready(const classifier::Classifier& classifier,
                                                  const Signature& signature,
                                                  const HintedStates& states) {
  return std::make_shared<const ReadyClassifier>(classifier, signature, states);
}

std::unique_ptr<Predictor> by_classifier(std::shared_ptr<const ReadyClassifier> classifier) {
  return std::make_unique<ByClassifier>(std::move(classifier));
}

}  // namespace heddle::admission
