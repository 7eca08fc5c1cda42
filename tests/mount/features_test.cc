// SPDX-License-Identifier: Apache-2.0
//
// What the kernel does not offer must cost speed only: the same work with each feature left out.
#include <sys/xattr.h>

#include "mount_test.h"

namespace agentfs::posix {
namespace {

using fuse::Feature;
using fuse::Features;

struct Case {
  std::string name;
  fuse::Wanted wanted;
};

// Each feature that is used left out, none at all, and what old kernels have.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  const fuse::Wanted most = fuse::MostWanted();
  for (Feature feature : fuse::AllFeatures()) {
    if (!most.features.Has(feature)) continue;
    std::string name(fuse::NameOf(feature));
    std::erase_if(name, [](char c) { return !std::isalnum(c); });
    cases.push_back({name, most});
    cases.back().wanted.features = most.features.Without(feature);
  }
  cases.push_back({"Nothing", most});
  cases.back().wanted.features = Features();
  cases.back().wanted.minor = fuse::kOldestProtocolMinor;
  // FUSE 7.34: nothing of the second word of flags.
  cases.push_back({"Linux515", most});
  cases.back().wanted.features = Features(most.features.bits() & UINT32_MAX)
                                     .Without(Feature::kInitExt)
                                     .Without(Feature::kSetxattrExt);
  cases.back().wanted.minor = 34;
  // FUSE 7.43: all but the notification that drops every entry.
  cases.push_back({"Linux615", most});
  cases.back().wanted.minor = 43;
  return cases;
}

class FeaturesTest : public MountTest, public testing::WithParamInterface<Case> {
 protected:
  void StartWithWanted(Base base) {
    MountRigOptions options;
    options.serve.wanted = GetParam().wanted;
    Start(base, std::move(options));
    EXPECT_EQ(rig().mount().capabilities().features.bits() & ~GetParam().wanted.features.bits(),
              0u);
  }
};

TEST_P(FeaturesTest, WorkIsTheSameWithout) {
  WriteHostFile(base("b"), Pattern(200'000));
  StartWithWanted(Base::kYes);
  Write("f", Pattern(3'000'000, 2));
  EXPECT_EQ(Read("f"), Pattern(3'000'000, 2));
  EXPECT_EQ(Read("b"), Pattern(200'000));
  {
    const File reader(path("b"), O_RDONLY);
    const File writer(path("b"), O_WRONLY);
    ASSERT_EQ(::pwrite(writer.fd(), "here", 4, 150'000), 4);
    EXPECT_EQ(reader.ReadAll().substr(150'000, 4), "here");
  }
  EXPECT_EQ(Run("umask 027; mkdir d; touch d/f; stat -c %a d d/f"), "750\n640\n");
  EXPECT_EQ(Run("ls d; touch d/g; ls d; rm d/f; ls d"), "f\nf\ng\ng\n");
  EXPECT_EQ(Run("echo longer > t; echo x > t; cat t; ln -s t l; cat l; mv t u; cat u"),
            "x\nx\nx\n");
  ASSERT_EQ(::setxattr(path("u").c_str(), "user.a", "value", 5, 0), 0) << ErrnoName(errno);
  char value[8];
  EXPECT_EQ(::getxattr(path("u").c_str(), "user.a", value, sizeof value), 5);
  // A write by an ordinary user takes the set-user-id bit away.
  Run("echo x > s; chown 1001 s; chmod 4755 s; setpriv --reuid=1001 --clear-groups "
      "sh -c 'echo more >> s'");
  EXPECT_EQ(Run("stat -c %a s"), "755\n");
  EXPECT_EQ(Run("mkdir open; chmod 777 open; cd open; setpriv --reuid=1001 --regid=1001 "
                "--clear-groups sh -c 'umask 022; touch mine'; stat -c '%u %g %a' mine"),
            "1001 1001 644\n");
}

// Names that the kernel has, names that it knows to be absent, listings, links, data.
TEST_P(FeaturesTest, ARestoreIsSeenAtOnceWithout) {
  StartWithWanted(Base::kNo);
  Run("mkdir d d/deep; echo then > d/f; echo x > d/gone; ln -s f d/l; ln d/f h; echo r > old");
  ASSERT_TRUE(volume().CreateSnapshot("main", "s", "", Durability::kNone).ok());
  Run("echo now, and longer > d/f; rm d/gone d/l; ln -s other d/l; echo y > d/new; mkdir e;"
      "mv d/deep e; mv old renamed; ls -lR; cat d/f h renamed; stat d/gone old d/deep; true");
  const File reader(path("d/f"), O_RDONLY);
  ASSERT_TRUE(volume().Restore("main", "s").ok());
  rig().mount().FlushInvalidations();
  EXPECT_EQ(Run("cat d/f d/gone h old; ls; ls d; readlink d/l"),
            "then\nx\nthen\nr\nd\nh\nold\ndeep\nf\ngone\nl\nf\n");
  EXPECT_EQ(reader.ReadAll(), "then\n");
  for (const char* name : {"d/new", "e", "e/deep", "renamed"}) EXPECT_FALSE(Exists(name)) << name;
  Run("echo again > d/new; mv d/new renamed; cat renamed");
}

TEST_P(FeaturesTest, WhatOthersChangeIsSeenWithout) {
  StartWithWanted(Base::kNo);
  const auto other = MountAgain("other");
  const auto settle = [&] {
    rig().mount().FlushInvalidations();
    other->mount().FlushInvalidations();
  };
  Run("mkdir d; echo one > d/f; cat d/f; ls d; stat d/g; true");
  Shell(other->path(), "echo two, and longer > d/f; echo new > d/g; mv d/f d/h");
  settle();
  EXPECT_EQ(Run("cat d/h d/g; ls d"), "two, and longer\nnew\ng\nh\n");
  EXPECT_FALSE(Exists("d/f"));
  Shell(other->path(), "rm -r d");
  settle();
  EXPECT_EQ(Run("ls"), "");
}

INSTANTIATE_TEST_SUITE_P(Each, FeaturesTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace agentfs::posix
