#include "place.h"

#include <pthread.h>

#include <atomic>
#include <exception>
#include <utility>

namespace py = pybind11;

namespace heddle::client {

namespace {

/// How many forks lead to this process, since the module was loaded.
std::atomic<unsigned>& forks() {
  static std::atomic<unsigned> count{0};
  static const int counted = pthread_atfork(nullptr, nullptr, [] { ++count; });
  static_cast<void>(counted);
  return count;
}

py::handle variable() {
  // It is never destroyed, because the interpreter may end first.
  static PyObject* const made = PyContextVar_New("heddle_client transaction", Py_None);
  return made;
}

/// The innermost transaction that has not ended, or None.
py::object innermost() {
  PyObject* found = nullptr;
  if (PyContextVar_Get(variable().ptr(), nullptr, &found) != 0) throw py::error_already_set();
  auto object = py::reinterpret_steal<py::object>(found);
  while (!object.is_none() && object.cast<Inside&>().ended) object = object.cast<Inside&>().outer;
  return object;
}

void set_innermost(const py::object& inside) {
  PyObject* token = PyContextVar_Set(variable().ptr(), inside.ptr());
  if (token == nullptr) throw py::error_already_set();
  Py_DECREF(token);
}

}  // namespace

Place::~Place() {
  try {
    if (inside_) inside_->ended = true;
    give_back();
  } catch (const std::exception&) {  // no caller can receive it
  }
}

bool Place::admit(const std::shared_ptr<Queue>& scheduler, Request request) {
  forks_ = forks();
  const auto [ticket, started] = scheduler->submit(std::move(request));
  scheduler_ = scheduler;
  ticket_ = ticket;
  return started;
}

void Place::begin(const py::object& type) {
  entered_ = true;
  inside_ = include(type);
}

std::shared_ptr<Inside> Place::include(const py::object& type) {
  if (!scheduler_) return nullptr;
  const auto inside = std::make_shared<Inside>(Inside{scheduler_.get(), type, innermost()});
  set_innermost(py::cast(inside));
  return inside;
}

void Place::leave() {
  entered_ = false;
  if (const std::shared_ptr<Inside> inside = std::move(inside_)) {
    inside->ended = true;
    // In the context of another task, which is not inside it, nothing changes.
    set_innermost(innermost());
  }
  give_back();
}

void Place::give_back() {
  const std::shared_ptr<Queue> scheduler = std::move(scheduler_);
  const Queue::Ticket ticket = std::exchange(ticket_, Queue::kUnscheduled);
  // A thread that the child of a fork lacks may have locked the scheduler of its parent.
  if (ticket == Queue::kUnscheduled || forks_ != forks()) return;
  if (!scheduler->cancel(ticket)) scheduler->release(ticket);
}

bool Place::on_start(std::function<void()> call) {
  return scheduler_ && scheduler_->on_start(ticket_, std::move(call));
}

void Place::force() {
  if (scheduler_) scheduler_->force(ticket_);
}

std::optional<std::chrono::microseconds> Place::poll() {
  return scheduler_ ? scheduler_->poll(ticket_) : std::nullopt;
}

py::object Place::surrounding(const Queue& scheduler) {
  py::object found = innermost();
  while (!found.is_none()) {
    const Inside& inside = found.cast<Inside&>();
    if (!inside.ended && inside.scheduler == &scheduler) return inside.type;
    found = py::object(inside.outer);
  }
  return found;
}

}  // namespace heddle::client
