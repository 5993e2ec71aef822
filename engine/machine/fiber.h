#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <utility>

namespace heddle {

/// A fiber: code on a stack of its own, or the thread's original stack; and the switch from one to
/// another. AddressSanitizer is notified of every switch; otherwise it would report accesses to one
/// stack from another.
///
/// The stack of an ended fiber is reused for the thread's next one: getting one from the system
/// takes longer than a short run.
class Fiber {
 public:
  /// The stack that the thread runs on.
  Fiber() = default;

  /// A fiber with a stack of its own for `body`, started by the first switch to it.
  /// @param last returns the fiber to switch to once the body has returned
  Fiber(std::function<void()> body, std::function<Fiber&()> last);

  /// Switches from this fiber, which is the running one, to another.
  void switch_to(Fiber& other);

 private:
  /// Runs first after every switch.
  static void arrived(boost::context::fiber&& from, void* fake_stack);

  boost::context::fiber context_;  ///< where it resumes; empty while it runs
  const void* stack_ = nullptr;    ///< its lowest address
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;  ///< the sanitizer's, of a fiber that does not run
};

}  // namespace heddle
