#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/mailbox.h"
#include "driver/measurements.h"
#include "driver/recent_inputs.h"
#include "driver/result.h"
#include "model/hints.h"
#include "model/options.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "schedule/admission/hinted_states.h"
#include "schedule/admission/hot_keys.h"
#include "schedule/admission/operation.h"
#include "schedule/admission/options.h"
#include "schedule/admission/predictor.h"
#include "schedule/admission/probe.h"
#include "schedule/admission/registry.h"
#include "schedule/classifier/classifier.h"

namespace heddle {

/// The state that the workers of one run share to schedule their transactions.
template <class M>
struct AdmissionState {
  /// A transaction passed to the worker that owns its key; its input is the tail.
  struct Parcel {
    admission::Operations operations;
    typename M::Ticks arrived;
  };

  AdmissionState(const admission::Options& given, int workers, const Signature& signature,
                 std::size_t input_bytes)
      : options(given),
        scheduled(given.scheduled_types(signature)),
        states(signature),
        keys(given),
        recent(input_bytes) {
    if (!options.classifier.empty()) {
      const auto classifier = classifier::Classifier::parse(options.classifier, signature);
      classifier_summary = classifier.summary();
      ready_classifier = admission::make_ready(classifier, signature, states);
    }
    if (!admission::routes(options.policy)) return;
    for (int worker = 0; worker < workers; ++worker) {
      mailboxes.emplace_back(static_cast<std::size_t>(options.window), input_bytes);
    }
  }

  /// Whether transactions of a type are scheduled. Read-only types, which are in no signature, are.
  [[nodiscard]] bool schedules(int type) const {
    const auto at = static_cast<std::size_t>(type);
    return at >= scheduled.size() || scheduled[at];
  }

  /// A predictor for one worker.
  [[nodiscard]] std::unique_ptr<admission::Predictor> make_predictor() const {
    if (ready_classifier != nullptr) return admission::by_classifier(ready_classifier);
    return admission::by_counting(states, options.hot);
  }

  /// The options as a result records them; a classifier, which may be long, is recorded by its
  /// size.
  [[nodiscard]] OptionMap recorded_options() const {
    OptionMap recorded = options.to_map();
    recorded["classifier"] = classifier_summary;
    return recorded;
  }

  /// The scheduling results of a run.
  [[nodiscard]] ScheduleResult result(const std::vector<Measurements<M>>& workers) const {
    ScheduleResult result{.options = recorded_options()};
    for (const Measurements<M>& worker : workers) {
      const AdmissionCounts& counts = worker.admission;
      result.hot += counts.hot;
      result.cold += counts.cold;
      result.overtaking += counts.overtaking;
      result.forced += counts.forced;
      result.deferred += counts.deferred;
      result.moved += counts.moved;
      result.choosing_s += M::microseconds(worker.choosing) / 1e6;
      result.held_s += M::microseconds(worker.held) / 1e6;
    }
    return result;
  }

  admission::Options options;
  std::vector<bool> scheduled;  ///< by type of the signature
  admission::HintedStates states;
  std::shared_ptr<const admission::ReadyClassifier> ready_classifier;  ///< nullptr: the hints alone
  std::string classifier_summary;
  admission::HotKeys<M> keys;
  admission::ProbeCounts<M> probe;
  RecentInputs recent;                       ///< for deliberate mistakes
  std::deque<Mailbox<M, Parcel>> mailboxes;  ///< one per worker, if the policy routes
};

/// The state that the workers of a run share for scheduling; nullptr: the options say `fifo`.
/// @throws std::invalid_argument naming the invalid option and the valid values
template <class M>
[[nodiscard]] std::unique_ptr<AdmissionState<M>> make_admission_state(const OptionMap& schedule,
                                                                      std::string_view protocol,
                                                                      int workers,
                                                                      const Signature& signature,
                                                                      std::size_t input_bytes) {
  admission::Options options = admission::Options::parse(schedule);
  if (!options.schedules()) return nullptr;
  if (!options.rules_given) options.rules = admission::rules_of(protocol);
  if (!options.until_given) options.until = admission::until_of(protocol);
  if (options.probe_us > 0) {
    options.probe_us = std::max(options.probe_us, admission::least_probe_us(protocol));
  }
  return std::make_unique<AdmissionState<M>>(options, workers, signature, input_bytes);
}

}  // namespace heddle
