// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <map>
#include <utility>

#include <perf/cuda/nccl.hpp>

namespace perf {

namespace {

// The part of NCCL's C interface that is used here, as its nccl.h has had it since 2.10.
using Communicator = struct ncclComm*;
constexpr int success = 0;
constexpr int sum = 0;
std::map<std::string, int> const data_types = {{"half", 6}, {"float", 7}, {"bfloat16", 9}};

struct Functions {
  int (*get_version)(int*);
  char const* (*get_error_string)(int);
  int (*comm_init_all)(Communicator*, int, int const*);
  int (*comm_destroy)(Communicator);
  int (*group_start)();
  int (*group_end)();
  int (*all_reduce)(void const*, void*, std::size_t, int, int, Communicator, cudaStream_t);
  // From 2.27 on.
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*free)(void*) = nullptr;
  int (*register_window)(Communicator, void*, std::size_t, void**, int) = nullptr;
  int (*deregister_window)(Communicator, void*) = nullptr;

  template <class Function>
  static bool find(void* library, char const* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
  bool find_all(void* library) {
    return find(library, "ncclGetVersion", get_version) &&
           find(library, "ncclGetErrorString", get_error_string) &&
           find(library, "ncclCommInitAll", comm_init_all) &&
           find(library, "ncclCommDestroy", comm_destroy) && find(library, "ncclGroupStart", group_start) &&
           find(library, "ncclGroupEnd", group_end) && find(library, "ncclAllReduce", all_reduce);
  }
  bool find_windows(void* library) {
    return find(library, "ncclMemAlloc", allocate) && find(library, "ncclMemFree", free) &&
           find(library, "ncclCommWindowRegister", register_window) &&
           find(library, "ncclCommWindowDeregister", deregister_window);
  }
};
constexpr int symmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC

class Found : public Nccl {
 public:
  Found(Functions const& functions, std::string version, std::vector<Communicator> communicators)
      : functions_(functions), version_(std::move(version)), communicators_(std::move(communicators)) {}
  ~Found() override {
    for (auto const communicator : communicators_) (void)functions_.comm_destroy(communicator);
  }
  std::string version() const override { return version_; }

  std::string all_reduce(std::string const& element, std::vector<void const*> const& in,
                         std::vector<void*> const& out, std::size_t count,
                         std::vector<cudaStream_t> const& streams) override {
    int status = functions_.group_start();
    for (std::size_t rank = 0; rank < communicators_.size() && status == success; ++rank)
      status = functions_.all_reduce(in[rank], out[rank], count, data_types.at(element), sum,
                                     communicators_[rank], streams[rank]);
    int const ended = functions_.group_end();
    if (status == success) status = ended;
    return status == success ? "" : std::string("NCCL: ") + functions_.get_error_string(status);
  }

 protected:
  Functions functions_;
  std::string version_;
  std::vector<Communicator> communicators_;
};

class Symmetric final : public Found {
 public:
  using Found::Found;
  ~Symmetric() override {
    for (auto const& window : windows_)
      (void)functions_.deregister_window(window.communicator, window.handle);
    for (auto const buffer : buffers_) (void)functions_.free(buffer);
  }

  //! An input and an output on each rank; the text says what failed.
  std::string allocate(std::vector<int> const& devices, std::size_t max_bytes) {
    int status = success;
    for (int i = 0; i < 2; ++i) {
      std::vector<void*> made(devices.size());
      for (std::size_t rank = 0; rank < devices.size() && status == success; ++rank) {
        (void)cudaSetDevice(devices[rank]);
        status = functions_.allocate(&made[rank], max_bytes);
        if (status == success) buffers_.push_back(made[rank]);
      }
      if (status == success) status = functions_.group_start();
      for (std::size_t rank = 0; rank < devices.size() && status == success; ++rank) {
        windows_.push_back({communicators_[rank], nullptr});
        (void)cudaSetDevice(devices[rank]);
        status = functions_.register_window(communicators_[rank], made[rank], max_bytes,
                                            &registering_.emplace_back(), symmetric);
      }
      int const ended = functions_.group_end();
      if (status == success) status = ended;
      if (status != success) return functions_.get_error_string(status);
    }
    for (std::size_t i = 0; i < windows_.size(); ++i) windows_[i].handle = registering_[i];
    return "";
  }

  std::string all_reduce(std::string const& element, std::vector<void const*> const& in,
                         std::vector<void*> const& out, std::size_t count,
                         std::vector<cudaStream_t> const& streams) override {
    std::size_t const ranks = communicators_.size();
    std::vector<void const*> own_in(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(ranks));
    std::vector<void*> own_out(buffers_.begin() + static_cast<std::ptrdiff_t>(ranks), buffers_.end());
    if (in[0] == out[0]) own_in.assign(own_out.begin(), own_out.end());
    return Found::all_reduce(element, own_in, own_out, count, streams);
  }

 private:
  struct Window {
    Communicator communicator;
    void* handle;
  };
  std::vector<void*> buffers_{};
  std::deque<void*> registering_{};  // NCCL writes here when the group ends
  std::vector<Window> windows_{};
};

//! Finds the library and makes a communicator per rank.
template <class Made>
std::unique_ptr<Made> make(std::vector<int> const& devices, bool windows, std::string& why_not) {
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  Functions functions{};
  if (library == nullptr || !functions.find_all(library) || (windows && !functions.find_windows(library))) {
    why_not = library == nullptr ? "libnccl.so.2 is not found" : "libnccl.so.2 lacks a function";
    return nullptr;
  }
  int number = 0;
  (void)functions.get_version(&number);
  auto const version = "NCCL " + std::to_string(number / 10000) + '.' + std::to_string(number / 100 % 100) +
                       '.' + std::to_string(number % 100);
  ::setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);  // for ranks that share a GPU, from 2.30 on
  std::vector<Communicator> communicators(devices.size());
  int const status =
      functions.comm_init_all(communicators.data(), static_cast<int>(devices.size()), devices.data());
  if (status != success) {
    why_not = version + " can't make these ranks: " + functions.get_error_string(status);
    return nullptr;
  }
  return std::make_unique<Made>(functions, version, std::move(communicators));
}

}  // namespace

Nccl::Opened Nccl::open(std::vector<int> const& devices) {
  std::string why_not;
  auto made = make<Found>(devices, false, why_not);
  return {std::move(made), why_not};
}

Nccl::Opened Nccl::open_symmetric(std::vector<int> const& devices, std::size_t max_bytes) {
  std::string why_not;
  auto made = make<Symmetric>(devices, true, why_not);
  if (made == nullptr) return {nullptr, why_not};
  if (auto const failed = made->allocate(devices, max_bytes); !failed.empty()) return {nullptr, failed};
  return {std::move(made), ""};
}

}  // namespace perf
