#include "python/recorded_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace heddle {

namespace {

/// A transaction as a row of a NumPy array.
struct TransactionRow {
  std::uint64_t began_us;
  std::uint32_t accesses;
  std::uint16_t type;
  std::uint16_t hints;
  std::uint8_t rolled_back;
  std::uint8_t on_snapshot;
};

struct AccessRow {
  std::uint64_t key;
  std::uint16_t state;
};

TransactionRow row_of(const TracedTransaction& one) {
  return {one.began_us,
          one.accesses,
          one.type,
          one.hints,
          static_cast<std::uint8_t>(one.rolled_back),
          static_cast<std::uint8_t>(one.on_snapshot)};
}
AccessRow row_of(const TracedAccess& one) { return {one.key, one.state}; }
AccessRow row_of(const Hint& one) { return {one.key, one.state}; }

const TraceLog& log_of(const RecordedTraceHandle& handle, std::size_t worker) {
  const auto& logs = handle.trace->logs();
  if (worker >= logs.size()) throw py::index_error("worker " + std::to_string(worker));
  return logs[worker];
}

/// The elements of a log from `first` on, at most `count`.
template <class Row, class Log>
py::array_t<Row> rows_of(const Log& log, std::size_t first, std::size_t count) {
  const std::size_t begin = std::min(first, log.size());
  const std::size_t end = begin + std::min(count, log.size() - begin);
  py::array_t<Row> rows(static_cast<py::ssize_t>(end - begin));
  Row* row = rows.mutable_data();
  for (std::size_t at = begin; at < end; ++at) *row++ = row_of(log[at]);
  return rows;
}

}  // namespace

void bind_recorded_trace(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(TransactionRow, began_us, accesses, type, hints, rolled_back, on_snapshot);
  PYBIND11_NUMPY_DTYPE(AccessRow, key, state);
  using Handle = RecordedTraceHandle;
  py::class_<Handle>(module, "RecordedTrace",
                     "The accesses that every transaction of a run requested: see "
                     "engine/observe/recorded_trace.h.")
      .def_property_readonly(
          "began_us", [](const Handle& self) { return self.trace->began_us(); },
          "The start of the trace, in microseconds since 1970 (UTC).")
      .def_property_readonly(
          "workers", [](const Handle& self) { return self.trace->logs().size(); },
          "The number of workers.")
      .def(
          "transactions",
          [](const Handle& self, std::size_t worker) {
            const auto& log = log_of(self, worker).transactions;
            return rows_of<TransactionRow>(log, 0, log.size());
          },
          py::arg("worker"),
          "Returns a structured array with one row per transaction of a worker, in order. "
          "`began_us` counts from the start of the trace.")
      .def(
          "accesses",
          [](const Handle& self, std::size_t worker, std::size_t first, std::size_t count) {
            return rows_of<AccessRow>(log_of(self, worker).accesses, first, count);
          },
          py::arg("worker"), py::arg("first"), py::arg("count"),
          "Returns a structured array of `count` accesses of a worker, from number `first` on, "
          "transaction by transaction.")
      .def(
          "hints",
          [](const Handle& self, std::size_t worker, std::size_t first, std::size_t count) {
            return rows_of<AccessRow>(log_of(self, worker).hints, first, count);
          },
          py::arg("worker"), py::arg("first"), py::arg("count"),
          "Returns a structured array of `count` hints that its transactions passed before they "
          "began, from number `first` on.");
}

}  // namespace heddle
