// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A selector for nothing.
#include <chevron/chevron.hpp>

using namespace chevron;

#if defined(CASE_no_operations)  // expect-error: chevron: a selector needs a rank count, an element and an operation at least; got an empty list
using Ops = Operations<>;
#else
using Ops = Operations<Sum>;
#endif
#if defined(CASE_nothing_at_all)  // expect-error: chevron: a selector needs a rank count, an element and an operation at least; got an empty list
using Chosen = Selector<tables::Host, RankCounts<>, Elements<>, Operations<>>;
#else
using Chosen = Selector<tables::Host, RankCounts<2>, Elements<float>, Ops>;
#endif

constexpr std::uint32_t fingerprint = Chosen::fingerprint();
