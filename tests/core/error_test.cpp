// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an error tells people.
#include <chevron/core/error.hpp>

#include <support/catch.hpp>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

namespace {

using namespace chevron;

bool says(Error const& error, std::string const& what) {
  return error.message().find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("Every code has words of its own") {
  std::set<std::string> all;
  int codes = 0;
  for (; describe(static_cast<Errc>(codes)) != std::string("unknown error"); ++codes) {
    all.insert(describe(static_cast<Errc>(codes)));
  }
  CHECK(codes == static_cast<int>(Errc::system) + 1);  // the last one
  CHECK(all.size() == static_cast<std::size_t>(codes));
}

TEST_CASE("A message says what, who, during what, and leaves out what is not known") {
  Error const bare{.code = Errc::timeout};
  CHECK(bare.message() == std::string("chevron: ") + describe(Errc::timeout));

  Error const full{.code = Errc::system,
                   .rank = 3,
                   .reporter = 1,
                   .lane = 2,
                   .epoch = 77,
                   .native = ENOSPC,
                   .during = "mapping memory",
                   .detail = "16 GiB"};
  CHECK(says(full, describe(Errc::system)));
  CHECK(says(full, "rank 3"));
  CHECK(says(full, "during mapping memory"));
  CHECK(says(full, "noticed by rank 1, lane 2, epoch 77"));
  CHECK(says(full, std::strerror(ENOSPC)));
  CHECK(says(full, "16 GiB"));

  Error const by_rank_zero{.code = Errc::aborted, .rank = 0, .reporter = 0};
  CHECK(says(by_rank_zero, "rank 0"));
  CHECK_FALSE(says(by_rank_zero, "lane"));
}

TEST_CASE("Two ranks' errors have the same cause if code and culprit agree") {
  Error const at_one{.code = Errc::peer_died, .rank = 4, .reporter = 0, .epoch = 5};
  Error const at_other{.code = Errc::peer_died, .rank = 4, .reporter = 2, .epoch = 6, .during = "waiting"};
  CHECK(at_one.same_cause(at_other));
  CHECK_FALSE(at_one.same_cause({.code = Errc::peer_died, .rank = 3}));
  CHECK_FALSE(at_one.same_cause({.code = Errc::timeout, .rank = 4}));
}
