// The module heddle_client._scheduler: the scheduler for Python.
//
// Functions keep the interpreter's lock: none of them waits. A function that the scheduler calls
// when a transaction starts takes the lock itself, and never while the scheduler's mutex is held.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "client/scheduler.h"

namespace py = pybind11;

namespace heddle::client {
namespace {

std::chrono::microseconds microseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::duration<double>(seconds));
}

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

void add_keys(std::vector<Key>& keys, const py::handle& hashes, bool exclusive) {
  for (const py::handle hash : hashes) {
    keys.push_back({static_cast<std::uint64_t>(hash.cast<std::int64_t>()), exclusive});
  }
}

py::tuple submit(Scheduler& scheduler, const py::iterable& exclusive, const py::iterable& shared,
                 bool scheduled) {
  Request request{.keys = {}, .scheduled = scheduled};
  add_keys(request.keys, exclusive, true);
  add_keys(request.keys, shared, false);
  const auto [ticket, started] = scheduler.submit(std::move(request));
  return py::make_tuple(ticket, started);
}

bool on_start(Scheduler& scheduler, Scheduler::Ticket ticket, py::function function) {
  // The last copy may be destroyed by a thread without the interpreter's lock.
  const std::shared_ptr<py::function> shared(new py::function(std::move(function)),
                                             [](py::function* held) {
                                               const py::gil_scoped_acquire lock;
                                               delete held;
                                             });
  return scheduler.on_start(ticket, [shared] {
    const py::gil_scoped_acquire lock;
    try {
      (*shared)();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("heddle_client: a transaction that starts");
    }
  });
}

py::dict counters(const Scheduler& scheduler) {
  const Counters counted = scheduler.counters();
  py::dict named;
  named["started"] = counted.started;
  named["passed_through"] = counted.passed;
  named["waited"] = counted.waited;
  named["overtakings"] = counted.overtakings;
  named["forced"] = counted.forced;
  named["cancelled"] = counted.cancelled;
  named["running"] = counted.running;
  named["waiting"] = counted.waiting;
  named["longest_wait"] = seconds(counted.longest_wait);
  named["oldest_wait"] = seconds(scheduler.oldest_wait());
  return named;
}

void configure(Scheduler& scheduler, const std::string& mode, std::size_t concurrency,
               std::uint64_t barrier, double longest_wait) {
  Options options{
      .concurrency = concurrency, .barrier = barrier, .longest_wait = microseconds(longest_wait)};
  if (mode == "fifo") {
    options.mode = Mode::kFifo;
  } else if (mode == "smf") {
    options.mode = Mode::kSmf;
  } else if (mode == "locks") {
    options.mode = Mode::kLocks;
  } else {
    throw py::value_error("mode is '" + mode + "': give fifo, smf or locks");
  }
  scheduler.configure(options);
}

}  // namespace

PYBIND11_MODULE(_scheduler, module) {
  module.doc() = "The scheduler of an application's transactions, without the engine.";
  py::class_<Scheduler>(module, "Core")
      .def(py::init<>())
      .def("submit", &submit, py::arg("exclusive"), py::arg("shared"), py::arg("scheduled"))
      .def("on_start", &on_start, py::arg("ticket"), py::arg("function"))
      .def("cancel", &Scheduler::cancel, py::arg("ticket"))
      .def("release", &Scheduler::release, py::arg("ticket"))
      .def("force", &Scheduler::force, py::arg("ticket"))
      .def(
          "poll",
          [](Scheduler& scheduler, Scheduler::Ticket ticket) -> std::optional<double> {
            const auto next = scheduler.poll(ticket);
            return next ? std::optional(seconds(*next)) : std::nullopt;
          },
          py::arg("ticket"))
      .def("configure", &configure, py::arg("mode"), py::arg("concurrency"), py::arg("barrier"),
           py::arg("longest_wait"))
      .def("enable", &Scheduler::enable, py::arg("on"))
      .def_property_readonly("enabled", &Scheduler::enabled)
      .def_property_readonly("keys", &Scheduler::keys)
      .def("counters", &counters);
}

}  // namespace heddle::client
