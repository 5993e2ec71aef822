#include "machine/fiber.h"

#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace heddle {

namespace {

namespace ctx = boost::context;

/// Who left for the fiber that is arriving. initial-exec: a switch must not cost a call to find it.
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

}  // namespace

Fiber::Fiber(std::size_t bytes, std::function<void()> body, std::function<Fiber&()> last) {
  ctx::protected_fixedsize_stack allocator(bytes);
  const ctx::stack_context stack = allocator.allocate();
  stack_bytes_ = stack.size;
  stack_ = static_cast<const std::byte*>(stack.sp) - stack.size;
  context_ =
      ctx::fiber(std::allocator_arg, ctx::preallocated(stack.sp, stack.size, stack), allocator,
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
  if (!from) return;  // whoever was there has ended
  left->context_ = std::move(from);
  left->stack_ = stack;
  left->stack_bytes_ = bytes;
}

}  // namespace heddle
