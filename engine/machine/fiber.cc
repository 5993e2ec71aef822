#include "machine/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace heddle {

namespace {

namespace ctx = boost::context;

constexpr std::size_t kStackBytes = std::size_t{256} << 10;  // little of it is ever touched

/// The fiber that switched to the one that is arriving. initial-exec: a switch must not cost a call
/// to find it.
[[gnu::tls_model("initial-exec")]] thread_local Fiber* left = nullptr;

void leaving([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* stack,
             [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#endif
}

void arriving([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** from,
              [[maybe_unused]] std::size_t* from_bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, from, from_bytes);
#endif
}

/// Boost enters a fiber once when it creates it, and that frame never returns. While a Making
/// lives, AddressSanitizer keeps frames where they are. Otherwise it would count that frame among
/// the creator's for good, and after some ten thousand fibers it would search for a free slot among
/// them at every call.
class Making {
 public:
  Making(const void* stack, std::size_t bytes) { leaving(&fake_stack_, stack, bytes); }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
  ~Making() {
    // A fiber arrives only where another switched to it: at the target, and back at the source.
    const void* stack = nullptr;
    std::size_t bytes = 0;
    arriving(fake_stack_, &stack, &bytes);
    leaving(&fake_stack_, stack, bytes);
    arriving(fake_stack_, nullptr, nullptr);
  }

 private:
  void* fake_stack_ = nullptr;
};

/// The stacks of a thread's fibers that have ended.
class EndedStacks {
 public:
  EndedStacks() = default;
  EndedStacks(const EndedStacks&) = delete;
  EndedStacks& operator=(const EndedStacks&) = delete;
  ~EndedStacks() {
    for (ctx::stack_context& stack : stacks_) fresh_.deallocate(stack);
  }

  ctx::stack_context take() {
    if (stacks_.empty()) return fresh_.allocate();
    const ctx::stack_context stack = stacks_.back();
    stacks_.pop_back();
#if defined(__SANITIZE_ADDRESS__)
    // A fiber's outermost frames never return, and the redzones of their variables are still there.
    const auto* const top = static_cast<const std::byte*>(stack.sp);
    __asan_unpoison_memory_region(top - kStackBytes, kStackBytes);
#endif
    return stack;
  }
  void give(const ctx::stack_context& stack) { stacks_.push_back(stack); }

 private:
  ctx::protected_fixedsize_stack fresh_{kStackBytes};
  std::vector<ctx::stack_context> stacks_;
};

thread_local EndedStacks ended_stacks;

/// Supplies and takes back the stacks of fibers, in the form that Boost requires.
struct Stacks {
  static ctx::stack_context allocate() { return ended_stacks.take(); }
  static void deallocate(ctx::stack_context& stack) { ended_stacks.give(stack); }
};

}  // namespace

Fiber::Fiber(std::function<void()> body, std::function<Fiber&()> last) {
  const ctx::stack_context stack = Stacks::allocate();
  stack_bytes_ = stack.size;
  stack_ = static_cast<const std::byte*>(stack.sp) - stack.size;
  const Making making(stack_, stack_bytes_);
  context_ =
      ctx::fiber(std::allocator_arg, ctx::preallocated(stack.sp, stack.size, stack), Stacks(),
                 [body = std::move(body), last = std::move(last)](ctx::fiber&& from) {
                   arrived(std::move(from), nullptr);
                   body();
                   Fiber& next = last();
                   leaving(nullptr, next.stack_, next.stack_bytes_);
                   return std::move(next.context_);
                 });
}

void Fiber::switch_to(Fiber& other) {
  left = this;
  leaving(&fake_stack_, other.stack_, other.stack_bytes_);
  arrived(std::move(other.context_).resume(), fake_stack_);
}

void Fiber::arrived(ctx::fiber&& from, void* fake_stack) {
  const void* stack = nullptr;
  std::size_t bytes = 0;
  arriving(fake_stack, &stack, &bytes);
  if (!from) return;  // the previous fiber has ended
  left->context_ = std::move(from);
  left->stack_ = stack;
  left->stack_bytes_ = bytes;
}

}  // namespace heddle
