// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "victim.h"

int main(int argc, char** argv) {
  if (auto code = agentfs::crash::RunVictim(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
