#include "python/schedule.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "python/columns.h"
#include "schedule/batch.h"
#include "schedule/composite.h"
#include "schedule/dispatching.h"
#include "schedule/insertion.h"
#include "schedule/makespan.h"
#include "schedule/orientations.h"
#include "schedule/smf.h"

namespace py = pybind11;

namespace heddle {
namespace {

using schedule::Batch;
using schedule::Operation;
using schedule::Order;
using schedule::Problem;

template <typename T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;
using Indexes = Array<std::uint32_t>;

template <typename T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

std::vector<Operation> operations_of(const Array<std::uint8_t>& accesses, const Indexes& keys) {
  if (accesses.size() != keys.size())
    throw std::invalid_argument("accesses and keys must have the same length");
  std::vector<Operation> operations;
  operations.reserve(static_cast<std::size_t>(keys.size()));
  for (std::size_t at = 0; at < view(keys).size(); ++at) {
    if (view(accesses)[at] > 2) throw std::invalid_argument("accesses: 0 filler, 1 read, 2 write");
    operations.push_back({static_cast<schedule::Access>(view(accesses)[at]), view(keys)[at]});
  }
  return operations;
}

Batch make_batch(const Indexes& lengths, const Array<std::uint8_t>& accesses, const Indexes& keys) {
  const std::vector<Operation> operations = operations_of(accesses, keys);
  std::span<const Operation> rest = operations;
  Batch batch;
  for (const std::uint32_t length : view(lengths)) {
    if (length > rest.size())
      throw std::invalid_argument("lengths: they add up to more than the accesses");
    batch.add(rest.first(length));
    rest = rest.subspan(length);
  }
  if (!rest.empty()) throw std::invalid_argument("lengths: they add up to fewer than the accesses");
  return batch;
}

/// The indexes of an order.
/// @throws std::invalid_argument if a transaction does not exist, or occurs twice
Order checked(const Problem& problem, const Indexes& order) {
  std::vector<bool> seen(problem.touches.size());
  for (const std::uint32_t transaction : view(order)) {
    if (transaction >= seen.size()) {
      throw std::invalid_argument("there is no transaction " + std::to_string(transaction));
    }
    if (seen[transaction]) {
      throw std::invalid_argument("transaction " + std::to_string(transaction) + " occurs twice");
    }
    seen[transaction] = true;
  }
  return {view(order).begin(), view(order).end()};
}

/// Calls Python while C++ works without the interpreter lock: reports the progress, returns whether
/// to continue.
schedule::Proceed asking(const py::function& proceed) {
  return [&proceed](std::size_t done) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return proceed(done).cast<bool>();
  };
}

/// A walk, with its graph.
struct ScheduleWalk {
  ScheduleWalk(const Batch& batch, std::uint64_t seed) : graph(batch), walk(graph, seed) {}
  ScheduleWalk(const ScheduleWalk&) = delete;
  ScheduleWalk& operator=(const ScheduleWalk&) = delete;

  schedule::ConflictGraph graph;
  schedule::OrientationWalk walk;
};

/// Runs a policy without the interpreter lock.
template <typename Policy>
py::array_t<std::uint32_t> ordered(Policy&& policy) {
  Order order;
  {
    const py::gil_scoped_release release;
    order = policy();
  }
  return to_array(order);
}

void bind_batch(py::module_& module) {
  py::class_<Batch>(module, "TransactionBatch",
                    "A batch of transactions whose accesses are known, to be scheduled offline.")
      .def(py::init(&make_batch), py::arg("lengths"), py::arg("accesses"), py::arg("keys"),
           "Takes the length of each transaction in slots and, for every slot in order, its access "
           "(0 filler, 1 read, 2 write) and its key, small numbers from 0.\n\nRaises:\n    "
           "ValueError: a transaction is empty, or the numbers don't fit together.")
      .def("__len__", &Batch::size);
}

void bind_problem(py::module_& module) {
  py::class_<Problem>(module, "SchedulingProblem",
                      "A batch under the rules of one protocol: `mvtso`, `lock` or `occ` "
                      "(engine/schedule/rules.h).")
      .def(py::init([](const Batch& batch, const std::string& protocol) {
             return std::make_unique<Problem>(batch, schedule::parse_protocol(protocol));
           }),
           py::arg("batch"), py::arg("protocol"),
           "Raises:\n    ValueError: there is no such protocol.")
      .def("__len__", [](const Problem& problem) { return problem.touches.size(); })
      .def(
          "makespan",
          [](const Problem& problem, const Indexes& order) {
            return schedule::makespan(problem, checked(problem, order));
          },
          py::arg("order"),
          "Returns the number of slots that the transactions take, placed in this "
          "order.\n\nRaises:\n    ValueError: an index does not exist, or occurs twice.")
      .def(
          "starts",
          [](const Problem& problem, const Indexes& order) {
            return to_array(schedule::starts(problem, checked(problem, order)));
          },
          py::arg("order"),
          "Returns the slot, from 1, in which each transaction starts, by its position in the "
          "order.")
      .def(
          "shortest_makespan_first",
          [](const Problem& problem, std::size_t samples, std::uint64_t seed,
             const py::function& proceed) {
            return ordered([&] {
              return schedule::shortest_makespan_first(problem, samples, seed, asking(proceed));
            });
          },
          py::arg("samples"), py::arg("seed"), py::arg("proceed"),
          "Returns SMF's order (VLDB 2024, §3.1). `samples`: number drawn for each position; 0: "
          "all that remain. `proceed` is called at intervals with the number placed; once it "
          "returns False, the rest is appended in its present order.")
      .def(
          "composite_dispatching",
          [](const Problem& problem, std::size_t samples, double delay, double work, double length,
             double bound, std::uint64_t seed, const py::function& proceed) {
            return ordered([&] {
              return schedule::composite_dispatching(problem, samples, {delay, work, length, bound},
                                                     seed, asking(proceed));
            });
          },
          py::arg("samples"), py::arg("delay"), py::arg("work"), py::arg("length"),
          py::arg("bound"), py::arg("seed"), py::arg("proceed"),
          "Returns the order of a rule that also considers the transactions that a choice delays; "
          "its weights are described in engine/schedule/composite.h. Otherwise as "
          "`shortest_makespan_first`.\n\nRaises:\n    ValueError: a weight is negative, or not a "
          "number.")
      .def(
          "insert_each",
          [](const Problem& problem, const Indexes& sequence, const py::function& proceed) {
            const Order checked_sequence = checked(problem, sequence);
            return ordered(
                [&] { return schedule::insert_each(problem, checked_sequence, asking(proceed)); });
          },
          py::arg("sequence"), py::arg("proceed"),
          "Inserts the transactions one after the other where the makespan becomes least, and "
          "returns the order. `proceed` is called with the number inserted; once it returns False, "
          "the rest is appended.");
}

void bind_walk(py::module_& module) {
  py::class_<ScheduleWalk>(module, "ScheduleWalk",
                           "A random walk over a batch's serializable schedules that visits all "
                           "equally often (engine/schedule/orientations.h).")
      .def(py::init<const Batch&, std::uint64_t>(), py::arg("batch"), py::arg("seed"),
           "Begins with the order of the batch.\n\n"
           "Raises:\n    ValueError: there are too many conflicts.")
      .def_property_readonly(
          "conflicts", [](const ScheduleWalk& self) { return self.graph.edge_count(); },
          "The number of pairs of transactions that conflict.")
      .def(
          "step",
          [](ScheduleWalk& self, std::size_t count) {
            const py::gil_scoped_release release;
            for (std::size_t step = 0; step < count; ++step) self.walk.step();
          },
          py::arg("count"),
          "Takes `count` steps; the cost of each is proportional to transactions plus conflicts.")
      .def_property_readonly(
          "order", [](const ScheduleWalk& self) { return to_array(self.walk.order()); },
          "An order compatible with the present schedule.");
}

}  // namespace

void bind_schedule(py::module_& module) {
  bind_batch(module);
  bind_walk(module);
  bind_problem(module);
}

}  // namespace heddle
