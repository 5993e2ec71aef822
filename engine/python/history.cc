#include "python/history.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "check/checker.h"
#include "observe/history.h"

namespace py = pybind11;

namespace heddle {

namespace {

/// An attempt as a row of a NumPy array; its operations are the next `operations` rows of the other
/// array.
struct AttemptRow {
  std::uint32_t worker;
  std::uint16_t type;
  std::uint8_t end;
  std::uint8_t reason;
  std::uint64_t began;
  std::uint64_t ended;
  std::uint64_t incarnation;
  std::uint32_t operations;
  std::uint8_t on_snapshot;
};

struct OperationRow {
  std::uint64_t key;
  std::uint64_t version;
  std::uint64_t place;
  std::uint32_t digest;
  std::uint16_t bytes;
  std::uint8_t table;
  std::uint8_t kind;
  std::uint8_t flags;
};

py::array_t<AttemptRow> attempts_of(const HistoryHandle& handle) {
  std::size_t count = 0;
  for (const auto& log : handle.history->workers) count += log.attempts.size();
  py::array_t<AttemptRow> rows(static_cast<py::ssize_t>(count));
  auto* row = rows.mutable_data();
  for (std::uint32_t worker = 0; worker < handle.history->workers.size(); ++worker) {
    const check::WorkerLog& log = handle.history->workers[worker];
    for (std::size_t at = 0; at < log.attempts.size(); ++at) {
      const check::Attempt& attempt = log.attempts[at];
      *row++ = {worker,
                attempt.type,
                static_cast<std::uint8_t>(attempt.end),
                attempt.reason,
                attempt.began,
                attempt.ended,
                attempt.incarnation,
                attempt.operations,
                static_cast<std::uint8_t>(attempt.on_snapshot)};
    }
  }
  return rows;
}

py::array_t<OperationRow> operations_of(const HistoryHandle& handle) {
  std::size_t count = 0;
  for (const auto& log : handle.history->workers) count += log.operations.size();
  py::array_t<OperationRow> rows(static_cast<py::ssize_t>(count));
  auto* row = rows.mutable_data();
  for (const check::WorkerLog& log : handle.history->workers) {
    for (std::size_t at = 0; at < log.operations.size(); ++at) {
      const check::Operation& one = log.operations[at];
      *row++ = {one.key,
                one.version,
                one.place,
                one.digest,
                one.bytes,
                one.table,
                static_cast<std::uint8_t>(one.kind),
                one.flags};
    }
  }
  return rows;
}

[[noreturn]] void refuse(std::size_t row, const std::string& what) {
  throw std::invalid_argument("attempt " + std::to_string(row) + ": " + what);
}

check::Operation operation_of(const OperationRow& row, std::size_t attempt, std::size_t tables) {
  if (row.kind > static_cast<std::uint8_t>(check::Kind::broken)) refuse(attempt, "operation kind");
  if (row.flags > 15) refuse(attempt, "operation flags");
  if (row.table >= tables) refuse(attempt, "table " + std::to_string(row.table));
  const bool broken = row.kind == static_cast<std::uint8_t>(check::Kind::broken);
  if (broken && row.version >= static_cast<std::uint64_t>(check::Fault::count_)) {
    refuse(attempt, "fault " + std::to_string(row.version));
  }
  check::Operation one;
  one.key = row.key;
  one.version = row.version;
  one.place = row.place;
  one.digest = row.digest;
  one.bytes = row.bytes;
  one.table = row.table;
  one.kind = static_cast<check::Kind>(row.kind);
  one.flags = static_cast<std::uint8_t>(row.flags & 15);
  return one;
}

HistoryHandle history_from(const py::array_t<AttemptRow>& attempts,
                           const py::array_t<OperationRow>& operations,
                           std::vector<std::string> tables, std::vector<std::string> types,
                           std::vector<std::string> reasons, std::uint64_t first_version) {
  constexpr std::uint32_t kMostWorkers = 1 << 16;
  auto history = std::make_shared<check::History>();
  history->tables = std::move(tables);
  history->types = std::move(types);
  history->reasons = std::move(reasons);
  history->first_version = first_version;
  const auto rows = static_cast<std::size_t>(attempts.size());
  const auto available = static_cast<std::size_t>(operations.size());
  const AttemptRow* row = attempts.data();
  const OperationRow* operation = operations.data();
  std::size_t used = 0;
  for (std::size_t at = 0; at < rows; ++at, ++row) {
    if (row->worker >= kMostWorkers) refuse(at, "worker " + std::to_string(row->worker));
    if (row->end > static_cast<std::uint8_t>(check::End::aborted)) refuse(at, "end");
    if (row->type >= history->types.size()) refuse(at, "type " + std::to_string(row->type));
    if (available - used < row->operations) refuse(at, "more operations than there are");
    if (row->worker >= history->workers.size()) history->workers.resize(row->worker + 1);
    check::WorkerLog& log = history->workers[row->worker];
    check::Attempt attempt;
    attempt.began = row->began;
    attempt.ended = row->ended;
    attempt.first = log.operations.size();
    attempt.operations = row->operations;
    attempt.incarnation = row->incarnation;
    attempt.type = row->type;
    attempt.end = static_cast<check::End>(row->end);
    attempt.on_snapshot = row->on_snapshot != 0;
    attempt.reason = row->reason;
    log.attempts.push_back(attempt);
    for (std::uint32_t i = 0; i < row->operations; ++i) {
      log.operations.push_back(operation_of(*operation++, at, history->tables.size()));
    }
    used += row->operations;
  }
  if (used != available)
    throw std::invalid_argument("there are operations that belong to no attempt");
  return {std::move(history)};
}

}  // namespace

void bind_history(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(AttemptRow, worker, type, end, reason, began, ended, incarnation, operations,
                       on_snapshot);
  PYBIND11_NUMPY_DTYPE(OperationRow, key, version, place, digest, bytes, table, kind, flags);
  py::class_<HistoryHandle>(
      module, "History",
      "The reads and writes of every transaction of a run: see engine/observe/history.h.")
      .def(py::init(&history_from), py::arg("attempts"), py::arg("operations"), py::arg("tables"),
           py::arg("types"), py::arg("reasons"), py::arg("first_version"),
           "Builds a history from arrays in the form of `attempts` and `operations`.\n\nRaises:\n  "
           "  ValueError: the arrays are inconsistent; the message names the attempt.")
      .def_property_readonly("attempts", &attempts_of,
                             "A structured array: one row per attempt, by worker, in order.")
      .def_property_readonly("operations", &operations_of,
                             "A structured array: the attempts' operations, one after the other.")
      .def_property_readonly("tables",
                             [](const HistoryHandle& self) { return self.history->tables; })
      .def_property_readonly("types", [](const HistoryHandle& self) { return self.history->types; })
      .def_property_readonly("reasons",
                             [](const HistoryHandle& self) { return self.history->reasons; })
      .def_property_readonly(
          "first_version", [](const HistoryHandle& self) { return self.history->first_version; },
          "Versions below this one existed before the run.")
      .def(
          "check",
          [](const HistoryHandle& self, const std::string& isolation) {
            const Isolation level = isolation_named(isolation);
            std::string json;
            {
              const py::gil_scoped_release release;
              json = check::check_history(*self.history, level).to_json();
            }
            return py::module_::import("json").attr("loads")(json);
          },
          py::arg("isolation") = "serializable",
          "Checks whether the history is serializable, or satisfies the level `snapshot` or "
          "`read_committed`: returns counts, and `anomalies`, each with a `name` and a "
          "`text`.\n\nRaises:\n    ValueError: no level has this name.");
}

}  // namespace heddle
