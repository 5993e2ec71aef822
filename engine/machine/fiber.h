#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <utility>

namespace heddle {

/// A place to run code on a stack of its own, or the stack its thread came with; and switching from
/// one to another. The address sanitizer is told of every switch, or it would take what lies on one
/// stack for a stray access of another.
///
/// A stack whose fiber has ended serves the thread's next one: getting one from the system takes
/// longer than a short run.
class Fiber {
 public:
  /// The stack that the thread runs on.
  Fiber() = default;

  /// A stack of its own for `body`, begun by the first switch to it.
  /// @param last where to go on once the body has returned
  Fiber(std::function<void()> body, std::function<Fiber&()> last);

  /// Leaves this fiber, which is the running one, and goes on with another.
  void switch_to(Fiber& other);

 private:
  /// Runs first wherever a switch has led to.
  static void arrived(boost::context::fiber&& from, void* fake_stack);

  boost::context::fiber context_;  ///< where it goes on; empty while it runs
  const void* stack_ = nullptr;    ///< its lowest address
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;  ///< the sanitizer's, of a fiber that does not run
};

}  // namespace heddle
