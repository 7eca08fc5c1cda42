// SPDX-License-Identifier: Apache-2.0
#include "policy/category.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agentfs::policy {
namespace {

using testing::ElementsAre;

TEST(CategoryTest, NamesAreReadBack) {
  for (int i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    EXPECT_EQ(CategoryNamed(CategoryName(category)), category);
  }
  EXPECT_EQ(CategoryNamed("none"), std::nullopt);
}

TEST(CategoryTest, ReadOnlyIsTheAbsenceOfOthers) {
  CategorySet set;
  EXPECT_THAT(set.List(), ElementsAre(Category::kReadOnly));
  set.Add(Category::kReadOnly);
  EXPECT_TRUE(set.Has(Category::kReadOnly));
  set.Add(Category::kNetworked);
  EXPECT_FALSE(set.Has(Category::kReadOnly));
  EXPECT_THAT(set.List(), ElementsAre(Category::kNetworked));
}

TEST(CategoryTest, WhatDestroysChanges) {
  const CategorySet set = Category::kDestructive;
  EXPECT_THAT(set.List(), ElementsAre(Category::kMutating, Category::kDestructive));
  EXPECT_TRUE(set.Contains(Category::kMutating));
  EXPECT_FALSE(CategorySet(Category::kMutating).Contains(set));
}

}  // namespace
}  // namespace agentfs::policy
