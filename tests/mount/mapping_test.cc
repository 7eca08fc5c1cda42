// SPDX-License-Identifier: Apache-2.0
//
// Mapped files, and readers that have a file open while it is changed.
#include <sys/mman.h>

#include <cstring>

#include "mount_test.h"

namespace agentfs::posix {
namespace {

// A mapping of a whole file.
class Mapping {
 public:
  Mapping(const File& file, size_t size, int protection, int flags) : size_(size) {
    void* at = ::mmap(nullptr, size, protection, flags, file.fd(), 0);
    if (at != MAP_FAILED) data_ = static_cast<char*>(at);
  }
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool ok() const { return data_ != nullptr; }
  char* data() const { return data_; }
  std::string_view view() const { return {data_, size_}; }
  bool Sync() const { return ::msync(data_, size_, MS_SYNC) == 0; }

 private:
  char* data_ = nullptr;
  const size_t size_;
};

class MappingTest : public MountTest {};

TEST_F(MappingTest, WritesThroughASharedMappingReachTheFile) {
  Start();
  const std::string content = Pattern(3 * 4096 + 100);
  Write("f", content);
  {
    const File file(path("f"), O_RDWR);
    const Mapping shared(file, content.size(), PROT_READ | PROT_WRITE, MAP_SHARED);
    ASSERT_TRUE(shared.ok());
    EXPECT_EQ(shared.view(), content);
    std::memcpy(shared.data() + 5000, "mapped", 6);
    EXPECT_EQ(Read("f").substr(5000, 6), "mapped");
    ASSERT_TRUE(shared.Sync());
  }
  Remount();
  EXPECT_EQ(Read("f").substr(5000, 6), "mapped");
  EXPECT_EQ(Read("f").size(), content.size());
}

// A new file that is only written is written past the kernel's cache.
TEST_F(MappingTest, WhoWritesANewFileIsSeenByReadersAndMappings) {
  Start();
  const File writer(path("f"), O_WRONLY | O_CREAT | O_EXCL);
  ASSERT_TRUE(writer.WriteAll(std::string(8192, 'a')));
  const File other(path("f"), O_RDWR);
  const Mapping shared(other, 8192, PROT_READ | PROT_WRITE, MAP_SHARED);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(shared.view(), std::string(8192, 'a'));
  EXPECT_EQ(::pwrite(writer.fd(), "b", 1, 4096), 1);
  EXPECT_EQ(shared.data()[4096], 'b');
  EXPECT_EQ(Read("f")[4096], 'b');
  // What is stored in the mapping and not yet written is not lost, in the same page too.
  shared.data()[4097] = 'c';
  EXPECT_EQ(::pwrite(writer.fd(), "d", 1, 4098), 1);
  EXPECT_EQ(shared.view().substr(4096, 4), "bcda");
  EXPECT_EQ(Read("f").substr(4096, 4), "bcda");
  ASSERT_TRUE(shared.Sync());
  EXPECT_EQ(Read("f").substr(4096, 4), "bcda");
}

TEST_F(MappingTest, APrivateMappingKeepsItsWrites) {
  Start();
  Write("f", std::string(8192, 'a'));
  const File file(path("f"), O_RDONLY);
  const Mapping mine(file, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  ASSERT_TRUE(mine.ok());
  std::memset(mine.data(), 'b', 10);
  EXPECT_EQ(Read("f"), std::string(8192, 'a'));
  EXPECT_EQ(mine.view().substr(0, 11), "bbbbbbbbbba");
}

TEST_F(MappingTest, ReadersOfABaseFileSeeWhatIsWrittenLater) {
  const std::string content = Pattern(300'000);
  WriteHostFile(base("f"), content);
  Start(Base::kYes);
  const File reader(path("f"), O_RDONLY);
  const Mapping mapping(reader, content.size(), PROT_READ, MAP_SHARED);
  ASSERT_TRUE(mapping.ok());
  struct stat before {};
  ASSERT_EQ(::fstat(reader.fd(), &before), 0);
  EXPECT_EQ(mapping.view(), content);

  const File writer(path("f"), O_WRONLY);
  ASSERT_EQ(::pwrite(writer.fd(), "written", 7, 200'000), 7);
  EXPECT_EQ(mapping.view().substr(200'000, 7), "written");
  EXPECT_EQ(reader.ReadAll().substr(200'000, 7), "written");
  struct stat after {};
  ASSERT_EQ(::fstat(reader.fd(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(ReadHostFile(base("f")), content);
}

TEST_F(MappingTest, AMappingOfAnUnlinkedFileLives) {
  Start();
  Write("f", std::string(10'000, 'x'));
  const File file(path("f"), O_RDWR);
  ASSERT_EQ(::unlink(path("f").c_str()), 0);
  const Mapping shared(file, 10'000, PROT_READ | PROT_WRITE, MAP_SHARED);
  ASSERT_TRUE(shared.ok());
  shared.data()[9'999] = 'y';
  ASSERT_TRUE(shared.Sync());
  EXPECT_EQ(file.ReadAll(), std::string(9'999, 'x') + "y");
  Write("f", "another");
  EXPECT_EQ(file.ReadAll().size(), 10'000u);
}

TEST_F(MappingTest, DirectIoSeesWhatIsCachedAndTheOtherWayRound) {
  Start();
  Write("f", std::string(8192, 'a'));
  const File direct(path("f"), O_RDWR | O_DIRECT);
  ASSERT_TRUE(direct.ok()) << ErrnoName(errno);
  alignas(4096) char block[4096];
  ASSERT_EQ(::pread(direct.fd(), block, sizeof block, 4096), 4096);
  EXPECT_EQ(std::string_view(block, 4096), std::string(4096, 'a'));
  std::memset(block, 'b', sizeof block);
  ASSERT_EQ(::pwrite(direct.fd(), block, sizeof block, 0), 4096);
  EXPECT_EQ(Read("f"), std::string(4096, 'b') + std::string(4096, 'a'));
}

}  // namespace
}  // namespace agentfs::posix
