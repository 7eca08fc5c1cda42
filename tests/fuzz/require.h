// SPDX-License-Identifier: Apache-2.0
//
// REQUIRE(condition): what must hold in a fuzz target, in every kind of build.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                                \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
