// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/host/bootstrap/key.hpp>

#include <support/catch.hpp>

#include <set>
#include <string>

namespace {

using chevron::Errc;
using chevron::SharedMemoryKey;

TEST_CASE("a key is 32 digits and back") {
  for (int i = 0; i < 100; ++i) {
    SharedMemoryKey const key = SharedMemoryKey::random();
    std::string const text = key.text();
    REQUIRE(text.size() == 32);
    REQUIRE(text.find_first_not_of("0123456789abcdef") == std::string::npos);
    auto const back = SharedMemoryKey::parse(text);
    REQUIRE(back);
    REQUIRE(*back == key);
  }
  REQUIRE(SharedMemoryKey::parse("00112233445566778899AABBCCDDEEFF")->text() ==
          "00112233445566778899aabbccddeeff");
}

TEST_CASE("no two keys are the same") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) REQUIRE(seen.insert(SharedMemoryKey::random().text()).second);
}

TEST_CASE("what is no key is refused") {
  for (char const* const text : {"", "0", "00112233445566778899aabbccddeef",
                                 "00112233445566778899aabbccddeeff0", "g0112233445566778899aabbccddeeff",
                                 "00112233445566778899aabbccddeef ", " 0112233445566778899aabbccddeeff"}) {
    INFO('"' << text << '"');
    auto const key = SharedMemoryKey::parse(text);
    REQUIRE_FALSE(key);
    REQUIRE(key.error().code == Errc::bad_argument);
  }
}

}  // namespace
