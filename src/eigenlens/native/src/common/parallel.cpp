#include "common/parallel.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace eigenlens {

void (*check_interrupt)() = [] {};

namespace {

void check_interrupt_sometimes() {
  using clock = std::chrono::steady_clock;
  thread_local clock::time_point checked;
  const clock::time_point now = clock::now();
  if (now - checked < std::chrono::milliseconds(100)) return;
  checked = now;
  check_interrupt();
}

}  // namespace

void run_pieces(std::size_t pieces, std::size_t threads, void (*call)(const void*, std::size_t), const void* work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex first;
  auto run = [&](void (*between)()) {
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) call(work, piece), between();
    } catch (...) {
      next = pieces;
      const std::lock_guard<std::mutex> lock(first);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(threads, pieces); ++t) {
    try {
      others.emplace_back(run, [] {});
    } catch (const std::exception&) {
      break;  // the system has no more threads: the ones that started finish the work
    }
  }
  run(check_interrupt_sometimes);
  for (auto& other : others) other.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace eigenlens
