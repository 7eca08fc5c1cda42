// SPDX-License-Identifier: Apache-2.0
//
// A damaged SQLite file: opening it, checking and repairing it, and reading all that it shows must
// neither crash nor hang. An input is either the file itself (it begins as one does) or a list of
// changes to a good one and its write-ahead log: four bytes of offset, one of length, the bytes.
//
// Not for LMDB, which maps its file and trusts what it finds there: of 200 files with eight bytes
// changed at random, seven ended in SIGBUS or SIGSEGV inside the library and one in an endless
// loop.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "agentfs/stores.h"
#include "agentfs/volume.h"
#include "require.h"
#include "volume_exercise.h"

namespace agentfs {
namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kMagic = "SQLite format 3";

std::string ReadFile(const stdfs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteFile(const stdfs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(out.good());
}

Result<std::unique_ptr<Volume>> OpenVolume(const stdfs::path& file) {
  AGENTFS_ASSIGN(auto store, OpenSqliteStore(file.string(), VolumeSchema()));
  VolumeOptions options;
  options.single_file = true;
  return Volume::Open(std::move(store), nullptr, nullptr, options);
}

// Removed when the process ends.
class Directory {
 public:
  Directory() {
    // In memory where there is such a place: the disk is not what is tested here.
    std::error_code none;
    stdfs::path shared = "/dev/shm";
    bool usable = stdfs::is_directory(shared, none) && access(shared.c_str(), W_OK) == 0;
    path_ = ((usable ? shared : stdfs::temp_directory_path()) / "agentfs-fuzz-XXXXXX").string();
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~Directory() {
    std::error_code none;
    stdfs::remove_all(path_, none);
  }
  stdfs::path operator/(const char* name) const { return stdfs::path(path_) / name; }
  // Everything in it.
  void Clear() const {
    for (const auto& entry : stdfs::directory_iterator(path_)) stdfs::remove_all(entry.path());
  }

 private:
  std::string path_;
};

// A good database with its log, taken while it is open, with some of everything in it.
struct Template {
  std::string database, log;
};

Template MakeTemplate(const Directory& directory) {
  Template made;
  auto volume = OpenVolume(directory / "db").value();
  FillVolume(*volume);
  REQUIRE(volume->Flush(Durability::kSynced).ok());
  made.database = ReadFile(directory / "db");
  made.log = ReadFile(directory / "db-wal");
  REQUIRE(volume->Close().ok());
  directory.Clear();
  return made;
}

// Applies the changes that `patch` lists; offsets run through the database and then the log.
void Apply(std::string_view patch, Template& files) {
  while (patch.size() > 5) {
    uint32_t offset = 0;
    std::memcpy(&offset, patch.data(), sizeof(offset));
    size_t length = static_cast<uint8_t>(patch[4]);
    std::string_view bytes = patch.substr(5, length);
    patch.remove_prefix(5 + bytes.size());
    offset %= files.database.size() + files.log.size() + 1;
    bool in_log = offset >= files.database.size();
    std::string& target = in_log ? files.log : files.database;
    size_t at = in_log ? offset - files.database.size() : offset;
    target.replace(at, std::min(bytes.size(), target.size() - at), bytes);
  }
}

void Use(const stdfs::path& file) {
  Result<std::unique_ptr<Volume>> opened = OpenVolume(file);
  if (opened.ok()) ExerciseVolume(**opened);
}

void Run(std::string_view input) {
  static const Directory directory;
  static const Template good = MakeTemplate(directory);
  Template damaged = good;
  if (input.starts_with(kMagic)) {
    damaged = {std::string(input), {}};
  } else {
    Apply(input, damaged);
  }
  WriteFile(directory / "db", damaged.database);
  if (!damaged.log.empty()) WriteFile(directory / "db-wal", damaged.log);
  Use(directory / "db");
  directory.Clear();
}

}  // namespace
}  // namespace agentfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  agentfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
