// SPDX-License-Identifier: Apache-2.0
//
// A little of what fio and stress-ng can do, so that it is always done; and requests from many
// threads at once while another writer, snapshots and invalidations go on beside them.
#include <atomic>
#include <thread>
#include <vector>

#include "agentfs/files.h"
#include "mount_test.h"

namespace agentfs::posix {
namespace {

class StressTest : public MountTest {
 protected:
  static bool Has(const std::string& program) {
    return Shell("/", "command -v " + program).status == 0;
  }
};

TEST_F(StressTest, FioFindsWhatItWrote) {
  if (!Has("fio")) GTEST_SKIP() << "fio is not installed here";
  WriteHostFile(base("data.0.0"), std::string(8 << 20, 'b'));
  Start(Base::kYes);
  const std::string common =
      "fio --name=data --directory=. --filename=data.0.0 --size=8m --verify=crc32c "
      "--verify_fatal=1 --minimal --output=/dev/null ";
  Run(common + "--rw=randwrite --bs=4k --ioengine=psync");
  Run(common + "--rw=randrw --bs=16k --ioengine=psync --fsync=100");
  Run(common + "--rw=randwrite --bs=4k --ioengine=mmap");
  Run(common + "--rw=write --bs=1m --direct=1 --ioengine=psync");
}

TEST_F(StressTest, StressorsOfTheFilesystem) {
  if (!Has("stress-ng")) GTEST_SKIP() << "stress-ng is not installed here";
  Start();
  const char* const stressors[] = {"access",    "chmod",    "copy-file", "dir",     "dirdeep",
                                   "fallocate", "filename", "flock",     "getdent", "link",
                                   "locka",     "lockofd",  "rename",    "seek",    "symlink",
                                   "touch",     "utime",    "xattr"};
  for (const char* stressor : stressors) {
    Run(std::string("stress-ng --quiet --verify --temp-path . --timeout 1 --") + stressor +
        " 2 --" + stressor + "-ops 200");
  }
}

TEST_F(StressTest, EverythingAtOnce) {
  volume_options_.watch_base = true;
  volume_options_.read_ahead = true;
  for (int i = 0; i < 50; ++i) WriteHostFile(base("b" + std::to_string(i)), "base");
  Start(Base::kYes);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const std::string mine = "t" + std::to_string(t);
      for (int i = 0; i < 150; ++i) {
        const std::string name = mine + "-" + std::to_string(i % 20);
        Write(name, Pattern(static_cast<size_t>(i) * 97, static_cast<uint32_t>(t)));
        EXPECT_EQ(Read(name), Pattern(static_cast<size_t>(i) * 97, static_cast<uint32_t>(t)));
        EXPECT_EQ(::rename(path(name).c_str(), path(name + "r").c_str()), 0);
        if (i % 3 == 0) {
          EXPECT_EQ(::unlink(path(name + "r").c_str()), 0);
        }
        struct stat s {};
        ::stat(path("b" + std::to_string(i % 50)).c_str(), &s);
      }
    });
  }
  std::thread library([&] {
    const Files files(*volume().OpenBranch("main"));
    for (int i = 0; !stop; i = (i + 1) % 50) {
      EXPECT_TRUE(files.WriteBytes("/b" + std::to_string(i), "library").ok());
      if (i % 10 != 0) continue;
      EXPECT_TRUE(volume().CreateSnapshot("main", "", "", Durability::kNone).ok());
      EXPECT_EQ(Shell(path(), "ls >/dev/null").status, 0);
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  library.join();
  rig().mount().FlushInvalidations();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Read("b" + std::to_string(i)), "library");
}

}  // namespace
}  // namespace agentfs::posix
