// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <optional>

#include "fake_fs.h"
#include "files_fixture.h"

namespace agentfs::testing {
namespace {

class StreamTest : public FilesFixture {};

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

TEST_P(StreamTest, WritesAndReadsAcrossBuffers) {
  std::string bytes = Pattern(300'001);
  {
    auto out = files_.OpenWriter("/f").value();
    out->write(bytes.data(), 100'000);
    for (size_t i = 100'000; i < 200'000; ++i) out->put(bytes[i]);
    out->write(bytes.data() + 200'000, static_cast<std::streamsize>(bytes.size() - 200'000));
    EXPECT_EQ(out->tellp(), std::streampos(300'001));
    EXPECT_TRUE(out->good());
  }
  EXPECT_EQ(*files_.ReadBytes("/f"), bytes);
  auto in = files_.OpenReader("/f").value();
  std::string read((std::istreambuf_iterator<char>(*in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(read, bytes);
}

TEST_P(StreamTest, FlushMakesWritesVisible) {
  auto out = files_.OpenWriter("/f").value();
  *out << "hello " << 42;
  EXPECT_EQ(*files_.ReadBytes("/f"), "");
  out->flush();
  EXPECT_EQ(*files_.ReadBytes("/f"), "hello 42");
}

TEST_P(StreamTest, WriterTruncatesAndAppenderAppends) {
  ASSERT_OK(files_.WriteBytes("/f", "old content"));
  { *files_.OpenWriter("/f").value() << "new"; }
  EXPECT_EQ(*files_.ReadBytes("/f"), "new");
  auto first = files_.OpenAppender("/f").value();
  auto second = files_.OpenAppender("/f").value();
  *first << "1" << std::flush;
  *second << "2" << std::flush;
  *first << "3" << std::flush;
  EXPECT_EQ(*files_.ReadBytes("/f"), "new123");
}

TEST_P(StreamTest, ReaderSeeks) {
  std::string bytes = Pattern(200'000);
  ASSERT_OK(files_.WriteBytes("/f", bytes));
  auto in = files_.OpenReader("/f").value();
  for (size_t at : {150'000, 3, 65'536, 199'999, 0}) {
    in->seekg(static_cast<std::streamoff>(at));
    EXPECT_EQ(in->tellg(), std::streampos(static_cast<std::streamoff>(at)));
    EXPECT_EQ(in->get(), static_cast<unsigned char>(bytes[at]));
    EXPECT_EQ(in->tellg(), std::streampos(static_cast<std::streamoff>(at + 1)));
  }
  in->seekg(-1, std::ios::end);
  EXPECT_EQ(in->get(), static_cast<unsigned char>(bytes.back()));
  EXPECT_EQ(in->get(), std::char_traits<char>::eof());
  EXPECT_TRUE(in->eof());
  EXPECT_FALSE(in->bad());
  in->clear();
  in->seekg(-5, std::ios::beg);
  EXPECT_TRUE(in->fail());
}

TEST_P(StreamTest, StreamsOutliveTheFilesAndTheName) {
  std::unique_ptr<std::istream> in;
  {
    Files own(backend_.fs);
    ASSERT_OK(own.WriteBytes("/f", "still here"));
    in = own.OpenReader("/f").value();
    ASSERT_OK(own.Delete("/f"));
  }
  std::string line;
  std::getline(*in, line);
  EXPECT_EQ(line, "still here");
}

TEST_P(StreamTest, OpeningWhatIsNotThere) {
  EXPECT_EQ(files_.OpenReader("/none").code(), ENOENT);
  EXPECT_EQ(files_.OpenWriter("/none/f").code(), ENOENT);
  EXPECT_TRUE(files_.OpenAppender("/made").ok());
  EXPECT_TRUE(files_.Exists("/made"));
}

AGENTFS_FILES_SUITE(StreamTest);

TEST(StreamFaultTest, FailedWriteSetsBadbitAndWritesNoMore) {
  auto fs = std::make_shared<FakeFs>();
  Files files(fs);
  auto out = files.OpenWriter("/f").value();
  *out << "lost";
  fs->FailChange(1, ENOSPC);
  out->flush();
  EXPECT_TRUE(out->bad());
  out->clear();
  *out << "later" << std::flush;
  EXPECT_TRUE(out->bad());
  out.reset();
  EXPECT_EQ(*files.ReadBytes("/f"), "");
}

}  // namespace
}  // namespace agentfs::testing
