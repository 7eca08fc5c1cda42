// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include "subject.h"

namespace agentfs {

// Changes a tree at random; the same in trees that are the same.
class RandomChanges {
 public:
  // kElsewhere: no link leads to what there is, since git looks through one that a directory will
  // replace.
  enum class Links : bool { kElsewhere, kWithin };
  RandomChanges(posix::Subject& subject, uint32_t seed, Links links)
      : subject_(subject), random_(seed), links_(links) {}

  void Make(int count) {
    for (int i = 0; i < count; ++i) One();
  }

 private:
  int Pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  std::string Name() {
    static const std::vector<std::string> kNames = {"a", "b c",       "d\"e", "t\tab",
                                                    "ü", "new\nline", "x",    "y"};
    std::string path = kNames[Pick(8)];
    while (Pick(3) == 0) path += "/" + kNames[Pick(8)];
    return path;
  }
  std::string Content() {
    std::string text;
    if (Pick(5) == 0) return std::string(Pick(3) * 40000, static_cast<char>(Pick(3)));
    for (int lines = Pick(12); lines > 0; --lines) text += std::to_string(Pick(5)) + "\n";
    if (Pick(4) == 0) text += "no newline";
    return text;
  }
  void MakeLink(const std::string& path) {
    const std::string target = Name();
    (void)subject_.MakeSymlink(links_ == Links::kWithin ? target : "elsewhere/" + target, path);
  }
  // A directory with content where a file or link is; a link where a directory is.
  void ChangeType(const std::string& path) {
    const Result<Attr> attr = subject_.Stat(path);
    if (!attr.ok()) return;
    if (S_ISDIR(attr->mode)) {
      if (subject_.Rename(path, Name()).ok()) MakeLink(path);
    } else {
      (void)subject_.Unlink(path);
      (void)subject_.MakeDirectory(path);
      (void)subject_.WriteFile(path + "/a", Content());
      (void)subject_.Rename(Name(), path + "/x");
    }
  }
  void Swap(const std::string& a, const std::string& b) {
    if (!subject_.Rename(a, "swapped").ok()) return;
    (void)subject_.Rename(b, a);
    (void)subject_.Rename("swapped", b);
  }
  // Most of what it tries is possible now and then; the errors do not matter.
  void One() {
    const std::string path = Name();
    switch (Pick(12)) {
      case 0:
        (void)subject_.MakeDirectory(path);
        break;
      case 1:
        (void)subject_.Unlink(path);
        break;
      case 2:
        (void)subject_.RemoveDirectory(path);
        break;
      case 3:
      case 4:
        (void)subject_.Rename(path, Name());
        break;
      case 5:
        MakeLink(path);
        break;
      case 6:
        if (Result<Attr> attr = subject_.Stat(path); attr.ok() && S_ISREG(attr->mode)) {
          (void)subject_.Chmod(path, Pick(2) == 0 ? 0755 : 0644);
        }
        break;
      case 7:
        ChangeType(path);
        break;
      case 8:
        Swap(path, Name());
        break;
      default:
        if (Result<Attr> attr = subject_.Stat(path); !attr.ok() || S_ISREG(attr->mode)) {
          (void)subject_.WriteFile(path, Content());
        }
    }
  }

  posix::Subject& subject_;
  std::mt19937 random_;
  const Links links_;
};

}  // namespace agentfs
