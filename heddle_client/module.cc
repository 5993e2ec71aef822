// The module heddle_client._scheduler: the scheduler for Python.
//
// Functions keep the interpreter's lock: none of them waits. A function that the scheduler calls
// when a transaction starts takes the lock itself, and never while the scheduler's mutex is held.
// Python raises no KeyboardInterrupt inside a function of this module.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "client/scheduler.h"
#include "place.h"
#include "remote_queue.h"

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

Request request_of(const py::iterable& exclusive, const py::iterable& shared, bool scheduled) {
  Request request{.keys = {}, .scheduled = scheduled};
  add_keys(request.keys, exclusive, true);
  add_keys(request.keys, shared, false);
  return request;
}

py::tuple submit(Scheduler& scheduler, const py::iterable& exclusive, const py::iterable& shared,
                 bool scheduled) {
  const auto [ticket, started] = scheduler.submit(request_of(exclusive, shared, scheduled));
  return py::make_tuple(ticket, started);
}

/// Calls a function again if Python has raised an interrupt in it, and raises that later: a
/// transaction must not miss that it has started.
void call(const py::function& function) {
  constexpr int kTries = 8;
  py::object interrupt;
  for (int tries = 0; tries < kTries; ++tries) {
    try {
      function();
      break;
    } catch (py::error_already_set& error) {
      if (error.matches(PyExc_Exception)) {
        error.discard_as_unraisable("heddle_client: a transaction that starts");
        break;
      }
      interrupt = error.type();
    }
  }
  if (interrupt) PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), interrupt.ptr());
}

std::function<void()> callback(py::function function) {
  // The last copy may be destroyed by a thread without the interpreter's lock.
  const std::shared_ptr<py::function> shared(new py::function(std::move(function)),
                                             [](py::function* held) {
                                               const py::gil_scoped_acquire lock;
                                               delete held;
                                             });
  return [shared] {
    const py::gil_scoped_acquire lock;
    call(*shared);
  };
}

/// What `async with` awaits at its end: nothing, the transaction has ended by then.
struct Ended {};

/// Ends a transaction. It must not fail: its `with` block has run.
void end(const py::object& self) {
  try {
    self.cast<Place&>().leave();
  } catch (const std::exception& error) {
    self.attr("_failed_to_end")(error.what());
  }
}

std::optional<double> seconds(std::optional<std::chrono::microseconds> time) {
  return time ? std::optional(seconds(*time)) : std::nullopt;
}

py::dict counters(const Queue& scheduler) {
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

/// Adds what both kinds of queues have.
template <class Class>
void define_queue(Class& queue) {
  using Own = typename Class::type;
  queue.def(py::init<>())
      .def(
          "admit",
          [](const std::shared_ptr<Own>& scheduler, Place& place, const py::iterable& exclusive,
             const py::iterable& shared, bool scheduled) {
            return place.admit(scheduler, request_of(exclusive, shared, scheduled));
          },
          py::arg("place"), py::arg("exclusive"), py::arg("shared"), py::arg("scheduled"))
      .def("surrounding", [](const Own& scheduler) { return Place::surrounding(scheduler); })
      .def("enable", &Own::enable, py::arg("on"))
      .def_property_readonly("enabled", &Own::enabled)
      .def("counters", [](const Own& scheduler) { return counters(scheduler); });
}

PYBIND11_MODULE(_scheduler, module) {
  module.doc() = "The scheduler of an application's transactions, without the engine.";
  py::class_<Place> place(module, "Place");
  py::class_<Inside, std::shared_ptr<Inside>>(module, "Inside").def("end", [](Inside& inside) {
    inside.ended = true;
  });
  py::class_<Ended>(module, "Ended").def("__await__", [](const Ended&) {
    return py::iter(py::tuple());
  });
  py::register_exception<ServerLost>(module, "ServerError", PyExc_ConnectionError);
  py::class_<Scheduler, std::shared_ptr<Scheduler>> core(module, "Core");
  define_queue(core);
  core.def("submit", &submit, py::arg("exclusive"), py::arg("shared"), py::arg("scheduled"))
      .def(
          "on_start",
          [](Scheduler& scheduler, Scheduler::Ticket ticket, py::function function) {
            return scheduler.on_start(ticket, callback(std::move(function)));
          },
          py::arg("ticket"), py::arg("function"))
      .def("cancel", &Scheduler::cancel, py::arg("ticket"))
      .def("release", &Scheduler::release, py::arg("ticket"))
      .def("force", &Scheduler::force, py::arg("ticket"))
      .def(
          "poll",
          [](Scheduler& scheduler, Scheduler::Ticket ticket) {
            return seconds(scheduler.poll(ticket));
          },
          py::arg("ticket"))
      .def("configure", &configure, py::arg("mode"), py::arg("concurrency"), py::arg("barrier"),
           py::arg("longest_wait"))
      .def_property_readonly("keys", &Scheduler::keys);
  py::class_<RemoteQueue, std::shared_ptr<RemoteQueue>> remote(module, "RemoteCore");
  define_queue(remote);
  remote.def("connect", &RemoteQueue::connect, py::arg("socket"), py::arg("wake"))
      .def("flush", &RemoteQueue::flush)
      .def("lose", &RemoteQueue::lose, py::arg("start"))
      .def("started", &RemoteQueue::started, py::arg("ticket"), py::arg("has_waited"))
      .def("ping", &RemoteQueue::ping)
      .def_property_readonly("size", &RemoteQueue::size);
  place.def(py::init<>())
      .def("__exit__", [](const py::object& self, const py::args& /*error*/) { end(self); })
      .def("__aexit__",
           [](const py::object& self, const py::args& /*error*/) {
             end(self);
             return Ended{};
           })
      .def("_begin", &Place::begin, py::arg("type"))
      .def("_include", &Place::include, py::arg("type"))
      .def("_leave", &Place::leave)
      .def_property_readonly("_entered", &Place::entered)
      .def(
          "_on_start",
          [](Place& self, py::function function) {
            return self.on_start(callback(std::move(function)));
          },
          py::arg("function"))
      .def("_force", &Place::force)
      .def("_poll", [](Place& self) { return seconds(self.poll()); });
}

}  // namespace heddle::client
