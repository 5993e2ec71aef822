#pragma once

#include <cstddef>
#include <memory>

#include "model/hints.h"
#include "model/signature.h"
#include "schedule/admission/hinted_states.h"
#include "schedule/admission/operation.h"
#include "schedule/classifier/classifier.h"

namespace heddle::admission {

/// Predicts the hot keys of a transaction before it starts. Every worker has its own.
class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  /// Predicts what a transaction will do to hot keys; no operations: it is cold.
  /// @param operations empty
  virtual void predict(std::size_t type, const Hints& hints, Operations& operations) = 0;

  /// Notes a transaction that is not scheduled.
  virtual void pass() {}

  /// The rows that it will access, for a protocol that uses them (mvschedo).
  /// @param rows empty; one entry per row, with its state
  virtual void expect(std::size_t type, const Hints& hints, Hints& rows) = 0;
};

/// Predicts by the hints alone. They name the rows, their states give the operations, and hot keys
/// are counted from the worker's recent transactions (FrequentKeys).
/// @param states must live as long
/// @param share of the transactions that name a hot key, 0 to 1; 0: every hint is hot
[[nodiscard]] std::unique_ptr<Predictor> by_counting(const HintedStates& states, double share);

/// A classifier prepared for lookups, shared by the workers of a run.
class ReadyClassifier;
[[nodiscard]] std::shared_ptr<const ReadyClassifier> make_ready(
    const classifier::Classifier& classifier, const Signature& signature,
    const HintedStates& states);

/// Predicts by a classifier (SMF, VLDB 2024, §4.1.2): the operations of the cluster to which the
/// type and the hints belong.
[[nodiscard]] std::unique_ptr<Predictor> by_classifier(
    std::shared_ptr<const ReadyClassifier> classifier);

}  // namespace heddle::admission
