// SPDX-License-Identifier: Apache-2.0
//
// What a command does, as far as a decision about it goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace agentfs::policy {

enum class Category : uint8_t {
  kReadOnly,        // none of the others
  kMutating,        // changes files or processes
  kDestructive,     // removes or overwrites; mutating, too
  kNetworked,       // talks to other machines
  kHostEscapeRisk,  // reaches beyond the view, changes privileges, or cannot be seen through
  kInteractive,     // waits for a person
};
inline constexpr int kCategories = 6;

std::string_view CategoryName(Category category);
std::optional<Category> CategoryNamed(std::string_view name);

// A set of categories. Empty is the same as read-only alone: kReadOnly is never in it with others.
class CategorySet {
 public:
  constexpr CategorySet() = default;
  constexpr CategorySet(Category category) { Add(category); }

  constexpr void Add(Category category) {
    if (category == Category::kReadOnly) return;
    bits_ |= Bit(category);
    if (category == Category::kDestructive) bits_ |= Bit(Category::kMutating);
  }
  constexpr void Add(CategorySet other) { bits_ |= other.bits_; }
  constexpr bool Has(Category category) const {
    return category == Category::kReadOnly ? bits_ == 0 : (bits_ & Bit(category)) != 0;
  }
  constexpr bool Contains(CategorySet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool operator==(const CategorySet&) const = default;

  // In the order of the enumeration; never empty.
  std::vector<Category> List() const;

 private:
  static constexpr uint8_t Bit(Category category) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(category));
  }
  uint8_t bits_ = 0;
};

}  // namespace agentfs::policy
