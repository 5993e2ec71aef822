#include "python/classifier.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "driver/session.h"
#include "python/columns.h"
#include "schedule/admission/hinted_states.h"
#include "schedule/admission/predictor.h"
#include "schedule/classifier/classifier.h"

namespace py = pybind11;

namespace heddle {
namespace {

template <typename T>
using Column = py::array_t<T, py::array::c_style | py::array::forcecast>;

/// A workload's predictor, as the engine's workers use it, outside a run.
class HotKeyPredictor {
 public:
  HotKeyPredictor(const OptionMap& workload, const std::string& classifier)
      : signature_(workload_signature(workload)),
        states_(signature_),
        classifier_(classifier::Classifier::parse(classifier, signature_)),
        predictor_(
            admission::by_classifier(admission::make_ready(classifier_, signature_, states_))) {}

  [[nodiscard]] std::string json() const { return classifier_.to_json(signature_); }
  [[nodiscard]] std::string summary() const { return classifier_.summary(); }

  py::tuple predict(const Column<std::uint32_t>& types, const Column<std::uint32_t>& counts,
                    const Column<std::uint32_t>& states, const Column<std::uint64_t>& keys) {
    if (types.size() != counts.size())
      throw std::invalid_argument("types and counts must have the same length");
    if (states.size() != keys.size())
      throw std::invalid_argument("states and keys must have the same length");
    DrawnHints predicted;
    Hints hints;
    Hints rows;
    py::ssize_t at = 0;
    for (py::ssize_t transaction = 0; transaction < types.size(); ++transaction) {
      const std::uint32_t count = counts.at(transaction);
      if (count > Hints::kMost) throw std::invalid_argument("too many hints of one transaction");
      if (at + count > keys.size())
        throw std::invalid_argument("counts add up to more hints than given");
      hints.clear();
      for (std::uint32_t hint = 0; hint < count; ++hint, ++at) {
        if (states.at(at) >= states_.size()) {
          throw std::invalid_argument("there is no state " + std::to_string(states.at(at)));
        }
        hints.add(static_cast<AccessId>(states.at(at)), keys.at(at));
      }
      rows.clear();
      predictor_->expect(types.at(transaction), hints, rows);
      predicted.counts.push_back(static_cast<std::uint32_t>(rows.size()));
      predicted.hints.insert(predicted.hints.end(), rows.begin(), rows.end());
    }
    if (at != keys.size()) throw std::invalid_argument("counts add up to fewer hints than given");
    const auto [predicted_states, predicted_keys] = columns(predicted.hints);
    return py::make_tuple(to_array(predicted.counts), predicted_states, predicted_keys);
  }

 private:
  Signature signature_;
  admission::HintedStates states_;
  classifier::Classifier classifier_;
  std::unique_ptr<admission::Predictor> predictor_;
};

}  // namespace

void bind_classifier(py::module_& module) {
  py::class_<HotKeyPredictor>(module, "HotKeyPredictor",
                              "Predicts the hot rows that transactions access, as the engine's "
                              "workers do in a run with\nthe classifier (SMF, VLDB 2024, §4.1.2).")
      .def(py::init<const OptionMap&, const std::string&>(), py::arg("workload"),
           py::arg("classifier"),
           "Reads a classifier.\n\nArgs:\n    workload: its name and options.\n    classifier: "
           "`schedule.classifier` of a policy's file.\n\nRaises:\n    ValueError: the classifier "
           "is invalid; the message names the place.")
      .def_property_readonly("json", &HotKeyPredictor::json, "The classifier in canonical form.")
      .def_property_readonly("summary", &HotKeyPredictor::summary, "Its size as text.")
      .def("predict", &HotKeyPredictor::predict, py::arg("types"), py::arg("counts"),
           py::arg("states"), py::arg("keys"),
           "Predicts the hot rows of many transactions.\n\nArgs:\n    types: the type of each "
           "transaction, by its index in the signature.\n    counts: the number of hints of each "
           "transaction.\n    states, keys: all hints, transaction by transaction.\n\nReturns:\n   "
           " (counts, states, keys) of the predicted rows, in the same form.\n\nRaises:\n    "
           "ValueError: the columns do not fit together, or a state does not exist.");
}

}  // namespace heddle
