// SPDX-License-Identifier: Apache-2.0
//
// Random operations on a volume and on a real directory at once. MODEL_SEED and MODEL_STEPS in the
// environment choose another seed and a longer run; MODEL_SHRINK gives the seconds for shrinking.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "generator.h"
#include "run.h"

namespace agentfs::model {
namespace {

struct Configuration {
  const char* name;
  posix::StoreKind store;
  bool base = false;
  bool single_file = false;
  bool tiny_caches = false;
  Access access = Access::kView;
};

void PrintTo(const Configuration& configuration, std::ostream* out) { *out << configuration.name; }

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

WorldOptions OptionsOf(const Configuration& configuration, uint64_t seed) {
  WorldOptions options;
  options.store = configuration.store;
  options.access = configuration.access;
  options.volume.watch_base = configuration.access != Access::kView;
  options.volume.read_ahead = options.volume.watch_base;
  options.volume.single_file = configuration.single_file;
  if (configuration.tiny_caches) {
    options.volume.content_cache_bytes = 128 * 1024;
    options.volume.cached_nodes = 8;
    options.volume.max_pending_bytes = 64 * 1024;
    options.volume.commit_interval_ms = 1;
  }
  if (configuration.base) options.base = Generator(seed + 1).Blind(80);
  return options;
}

class ModelTest : public testing::TestWithParam<Configuration> {};

TEST_P(ModelTest, BehavesAsARealDirectory) {
  constexpr uint64_t kSteps = 1000;
  constexpr uint64_t kRuns = 2;
  if (GetParam().access != Access::kView && !posix::WhyNoMounts().empty()) {
    GTEST_SKIP() << posix::WhyNoMounts();
  }
  const uint64_t first = FromEnvironment("MODEL_SEED", 20240607);
  const uint64_t steps = FromEnvironment("MODEL_STEPS", kSteps * kRuns) / kRuns;
  for (uint64_t seed = first; seed < first + kRuns; ++seed) {
    const WorldOptions options = OptionsOf(GetParam(), seed);
    auto finding = RunRandom(options, seed, steps);
    if (!finding) continue;
    const size_t before = finding->operations.size();
    const std::string original =
        finding->difference + "\n    in " + ToString(finding->operations.back());
    const Finding least = Shrink(options, std::move(*finding),
                                 static_cast<double>(FromEnvironment("MODEL_SHRINK", 10)));
    FAIL() << "MODEL_SEED=" << seed << ", after " << before << " steps: " << original
           << "\nShrunken to " << least.operations.size() << " steps:\n"
           << ToString(least.operations) << "  -> " << least.difference
           << (options.base.empty() ? "" : "\nThe base:\n" + ToString(options.base));
  }
}

using posix::StoreKind;
INSTANTIATE_TEST_SUITE_P(
    All, ModelTest,
    testing::Values(
        Configuration{"Memory", StoreKind::kMemory},
        Configuration{"MemoryBase", StoreKind::kMemory, true},
        Configuration{"MemoryTiny", StoreKind::kMemory, false, false, true},
        Configuration{"MemoryTinyBase", StoreKind::kMemory, true, false, true},
        Configuration{"Sqlite", StoreKind::kSqlite},
        Configuration{"SqliteBase", StoreKind::kSqlite, true},
        Configuration{"SqliteTinyBase", StoreKind::kSqlite, true, false, true},
        Configuration{"SqliteSingleFile", StoreKind::kSqlite, false, true},
        Configuration{"SqliteSingleFileTinyBase", StoreKind::kSqlite, true, true, true},
        Configuration{"Lmdb", StoreKind::kLmdb},
        Configuration{"LmdbTinyBase", StoreKind::kLmdb, true, false, true},
        Configuration{"Mount", StoreKind::kMemory, false, false, false, Access::kMount},
        Configuration{"MountTinyBase", StoreKind::kSqlite, true, false, true, Access::kMount},
        Configuration{"BulkMount", StoreKind::kMemory, false, false, false, Access::kBulkMount},
        Configuration{"BulkMountTinyBase", StoreKind::kSqlite, true, false, true,
                      Access::kBulkMount},
        Configuration{"TwoMountsBase", StoreKind::kMemory, true, false, false, Access::kTwoMounts}),
    [](const testing::TestParamInfo<Configuration>& info) { return info.param.name; });

}  // namespace
}  // namespace agentfs::model
