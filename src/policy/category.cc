// SPDX-License-Identifier: Apache-2.0
#include "policy/category.h"

#include <array>

namespace agentfs::policy {
namespace {

constexpr std::array<std::string_view, kCategories> kNames = {
    "read_only", "mutating", "destructive", "networked", "host_escape_risk", "interactive"};

}  // namespace

std::string_view CategoryName(Category category) { return kNames[static_cast<size_t>(category)]; }

std::optional<Category> CategoryNamed(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Category>(i);
  }
  return std::nullopt;
}

std::vector<Category> CategorySet::List() const {
  std::vector<Category> list;
  for (int i = 0; i < kCategories; ++i) {
    if (Has(static_cast<Category>(i))) list.push_back(static_cast<Category>(i));
  }
  return list;
}

}  // namespace agentfs::policy
