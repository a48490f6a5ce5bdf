// Is this one of parallel_for's tasks (base/parallel.h)? What runs there runs at no particular time.
#pragma once

namespace exhume {

[[nodiscard]] bool inside_parallel_for();

// For as long as a thread works on tasks.
class InsideParallelFor {
 public:
  InsideParallelFor();
  ~InsideParallelFor();
  InsideParallelFor(const InsideParallelFor&) = delete;
  InsideParallelFor& operator=(const InsideParallelFor&) = delete;

 private:
  bool before_;
};

}  // namespace exhume
