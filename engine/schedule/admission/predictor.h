#pragma once

#include <cstddef>
#include <memory>

#include "model/hints.h"
#include "model/signature.h"
#include "schedule/admission/hinted_states.h"
#include "schedule/admission/operation.h"
#include "schedule/classifier/classifier.h"

namespace heddle::admission {

/// Says which hot keys a transaction is going to touch, before it starts. Every worker has its own.
class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  /// A transaction comes: what it will do to hot keys; nothing: it is cold.
  /// @param operations empty
  virtual void predict(std::size_t type, const Hints& hints, Operations& operations) = 0;

  /// One comes that is not scheduled, whatever it does.
  virtual void pass() {}

  /// Which rows it will touch, for a protocol that is the better for knowing (mvschedo).
  /// @param rows empty; a row each, by the state that comes to it
  virtual void expect(std::size_t type, const Hints& hints, Hints& rows) = 0;
};

/// Predicts by the hints alone: they name the rows, their states tell what is done to those, and
/// which keys are hot is counted from what the worker has seen of late (FrequentKeys).
/// @param states must live as long
/// @param share of the transactions that name a hot key, 0 to 1; 0: every hint is hot
[[nodiscard]] std::unique_ptr<Predictor> by_counting(const HintedStates& states, double share);

/// A classifier made ready for lookups: what the workers of a run share.
class ReadyClassifier;
[[nodiscard]] std::shared_ptr<const ReadyClassifier> make_ready(
    const classifier::Classifier& classifier, const Signature& signature,
    const HintedStates& states);

/// Predicts by a classifier (SMF, VLDB 2024, §4.1.2): the operations of the cluster that the type
/// and the hints fall into.
[[nodiscard]] std::unique_ptr<Predictor> by_classifier(
    std::shared_ptr<const ReadyClassifier> classifier);

}  // namespace heddle::admission
