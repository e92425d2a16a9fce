// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>

#include <cstdlib>
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
};

class Found final : public Nccl {
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

 private:
  Functions functions_;
  std::string version_;
  std::vector<Communicator> communicators_;
};

}  // namespace

Nccl::Opened Nccl::open(std::vector<int> const& devices) {
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, "libnccl.so.2 is not found"};
  Functions functions{};
  if (!functions.find_all(library)) return {nullptr, "libnccl.so.2 lacks a function"};
  int number = 0;
  (void)functions.get_version(&number);
  auto const version = "NCCL " + std::to_string(number / 10000) + '.' + std::to_string(number / 100 % 100) +
                       '.' + std::to_string(number % 100);
  ::setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);  // for ranks that share a GPU, from 2.30 on
  std::vector<Communicator> communicators(devices.size());
  int const status =
      functions.comm_init_all(communicators.data(), static_cast<int>(devices.size()), devices.data());
  if (status != success)
    return {nullptr, version + " can't make these ranks: " + functions.get_error_string(status)};
  return {std::make_unique<Found>(functions, version, std::move(communicators)), ""};
}

}  // namespace perf
