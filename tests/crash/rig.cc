// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/stores.h"

namespace agentfs::crash {
namespace {

// Adds to the model what is on the disk.
void AddHostDirectory(const std::string& root, const std::string& path, Tree* tree) {
  std::filesystem::create_directory(root + "/" + path);
  std::filesystem::permissions(root + "/" + path, std::filesystem::perms(0755));
  const uint64_t id = tree->inodes.size() + 1;
  auto inode = std::make_shared<Inode>();
  inode->mode = S_IFDIR | 0755;
  tree->inodes[id] = std::move(inode);
  tree->names[path] = id;
}

void AddHostFile(const std::string& root, const std::string& path, size_t size, Tree* tree) {
  std::string content(size, '\0');
  for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>('A' + (i * 7 + i / 256) % 53);
  std::ofstream out(root + "/" + path, std::ios::binary);
  out << content;
  out.close();
  EXPECT_TRUE(out.good()) << path;
  std::filesystem::permissions(root + "/" + path, std::filesystem::perms(0644));
  const uint64_t id = tree->inodes.size() + 1;
  auto inode = std::make_shared<Inode>();
  inode->mode = S_IFREG | 0644;
  inode->content = std::move(content);
  tree->inodes[id] = std::move(inode);
  tree->names[path] = id;
}

void AddHostLink(const std::string& root, const std::string& from, const std::string& to,
                 Tree* tree) {
  std::filesystem::create_hard_link(root + "/" + from, root + "/" + to);
  tree->names[to] = tree->names.at(from);
}

void FillBase(const std::string& root, Tree* tree) {
  AddHostFile(root, "f0", 700, tree);
  AddHostFile(root, "f1", 150'000, tree);
  AddHostDirectory(root, "d0", tree);
  AddHostFile(root, "d0/f0", 0, tree);
  AddHostFile(root, "d0/f2", 90'000, tree);
  AddHostDirectory(root, "d0/d0", tree);
  AddHostFile(root, "d0/d0/f3", 5000, tree);
  AddHostLink(root, "d0/d0/f3", "f4", tree);
  AddHostDirectory(root, "d1", tree);
}

}  // namespace

std::string NameOf(const Setup& setup) {
  return std::string(setup.store == StoreKind::kSqlite ? "Sqlite" : "Lmdb") +
         (setup.base == Base::kHost ? "OverBase" : "Bare") +
         (setup.large == LargeContent::kInRows ? "SingleFile" : "");
}

std::vector<Setup> AllSetups() {
  std::vector<Setup> setups;
  for (StoreKind store : {StoreKind::kSqlite, StoreKind::kLmdb}) {
    for (Base base : {Base::kNone, Base::kHost}) {
      for (LargeContent large : {LargeContent::kInObjects, LargeContent::kInRows}) {
        setups.push_back({store, base, large});
      }
    }
  }
  return setups;
}

uint64_t FirstSeed() {
  const char* text = std::getenv("AGENTFS_TEST_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10) * 10'000'000;
}

Workspace::Workspace(const Setup& setup) : setup_(setup) {
  path_ = std::filesystem::temp_directory_path() / "agentfs-crash.XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path_;
  std::filesystem::create_directory(state_directory());
  std::filesystem::create_directory(base_directory());
  auto tree = std::make_shared<Tree>();
  if (setup.base == Base::kHost) FillBase(base_directory(), tree.get());
  base_tree_ = std::move(tree);
}

Workspace::~Workspace() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string StoreFile(const Setup& setup, const std::string& state_directory) {
  return state_directory + (setup.store == StoreKind::kSqlite ? "/volume.sqlite" : "/volume.lmdb");
}

Result<std::unique_ptr<Volume>> OpenVolume(const Setup& setup, const std::string& state_directory,
                                           const std::string& base_directory,
                                           uint32_t commit_interval_ms, const StoreWrapper& wrap) {
  const std::string file = StoreFile(setup, state_directory);
  const StoreOptions in_file{.large_rows = setup.large == LargeContent::kInRows};
  AGENTFS_ASSIGN(auto store, setup.store == StoreKind::kSqlite
                                 ? OpenSqliteStore(file, VolumeSchema(), in_file)
                                 : OpenLmdbStore(file, VolumeSchema()));
  if (wrap) store = wrap(std::move(store));
  VolumeOptions options;
  options.commit_interval_ms = commit_interval_ms;
  options.single_file = setup.large == LargeContent::kInRows;
  std::unique_ptr<BlobStore> blobs;
  if (!options.single_file) {
    AGENTFS_ASSIGN(blobs, OpenHostBlobStore(state_directory + "/objects"));
  }
  std::unique_ptr<BaseFs> base;
  if (setup.base == Base::kHost) {
    AGENTFS_ASSIGN(base, OpenHostBase(base_directory));
  }
  return Volume::Open(std::move(store), std::move(blobs), std::move(base), options);
}

}  // namespace agentfs::crash
