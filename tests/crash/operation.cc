// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace agentfs::crash {
namespace {

using Kind = Operation::Kind;

struct Share {
  Kind kind;
  uint32_t weight;
  const char* name;
};

constexpr std::array kShares = {
    Share{Kind::kCreate, 16, "create"},
    Share{Kind::kWrite, 22, "write"},
    Share{Kind::kAppend, 10, "append"},
    Share{Kind::kTruncate, 7, "truncate"},
    Share{Kind::kPunch, 3, "punch"},
    Share{Kind::kChmod, 3, "chmod"},
    Share{Kind::kSetXattr, 4, "setxattr"},
    Share{Kind::kRemoveXattr, 2, "removexattr"},
    Share{Kind::kMakeDirectory, 7, "mkdir"},
    Share{Kind::kRemoveDirectory, 3, "rmdir"},
    Share{Kind::kUnlink, 5, "unlink"},
    Share{Kind::kUnlinkHeld, 3, "unlink, held"},
    Share{Kind::kRename, 10, "rename"},
    Share{Kind::kExchange, 2, "exchange"},
    Share{Kind::kLink, 5, "link"},
    Share{Kind::kSymlink, 3, "symlink"},
    Share{Kind::kSync, 4, "sync"},
    Share{Kind::kSnapshot, 3, "snapshot"},
    Share{Kind::kSyncedSnapshot, 1, "synced snapshot"},
    Share{Kind::kDeleteSnapshot, 2, "delete snapshot"},
    Share{Kind::kCreateBranch, 3, "branch"},
    Share{Kind::kDeleteBranch, 1, "delete branch"},
    Share{Kind::kRestore, 1, "restore"},
    Share{Kind::kCollectGarbage, 1, "gc"},
};

using Random = std::mt19937_64;

uint64_t Below(Random& random, uint64_t bound) { return random() % bound; }

std::string Digit(char letter, uint64_t value) {
  return std::string(1, letter) + std::to_string(value);
}

std::string Directory(Random& random) {
  switch (Below(random, 4)) {
    case 0:
      return Digit('d', Below(random, 2)) + "/";
    case 1:
      return Digit('d', Below(random, 2)) + "/" + Digit('d', Below(random, 2)) + "/";
    default:
      return "";
  }
}

std::string Path(Random& random, char letter) {
  std::string directory = Directory(random);
  return directory + Digit(letter, Below(random, letter == 'f' ? 5 : 2));
}

std::string Branch(Random& random) {
  return Below(random, 4) != 0 ? "main" : Digit('b', Below(random, 2));
}

std::string Ref(Random& random) {
  switch (Below(random, 4)) {
    case 0:
      return "main";
    case 1:
      return Digit('b', Below(random, 2));
    case 2:
      return Below(random, 4) == 0 ? "base" : "main";
    default:
      return Digit('p', Below(random, 3));
  }
}

// Mostly small, sometimes past what is kept in rows.
void ChooseRange(Random& random, Operation* operation) {
  const bool large = Below(random, 4) == 0;
  operation->offset = Below(random, large ? 120 * 1024 : 9000);
  operation->length = 1 + Below(random, large ? 80 * 1024 : 6000);
  operation->length = std::min(operation->length, kLargest - operation->offset);
}

Kind ChooseKind(Random& random) {
  uint32_t all = 0;
  for (const Share& share : kShares) all += share.weight;
  uint64_t at = Below(random, all);
  for (const Share& share : kShares) {
    if (at < share.weight) return share.kind;
    at -= share.weight;
  }
  return Kind::kSync;
}

char LetterOf(Kind kind, Random& random) {
  switch (kind) {
    case Kind::kMakeDirectory:
    case Kind::kRemoveDirectory:
      return 'd';
    case Kind::kSymlink:
      return 'l';
    case Kind::kUnlink:
      return Below(random, 4) == 0 ? 'l' : 'f';
    case Kind::kRename:
      return std::array{'f', 'f', 'd', 'l'}[Below(random, 4)];
    default:
      return 'f';
  }
}

// The names of what an operation on the volume, not in a branch, works on.
void ChooseNames(Random& random, Operation* operation) {
  switch (operation->kind) {
    case Kind::kSnapshot:
    case Kind::kSyncedSnapshot:
    case Kind::kDeleteSnapshot:
      operation->other = Digit('p', Below(random, 3));
      break;
    case Kind::kCreateBranch:
    case Kind::kDeleteBranch:
      operation->branch = Digit('b', Below(random, 2));
      operation->other = Ref(random);
      break;
    case Kind::kRestore:
      operation->other = Ref(random);
      break;
    default:
      break;
  }
}

}  // namespace

Operation MakeOperation(uint64_t seed, uint32_t index) {
  Random random(seed * 1'000'003 + index);
  random.discard(4);
  Operation operation;
  operation.kind = ChooseKind(random);
  operation.branch = Branch(random);
  const char letter = LetterOf(operation.kind, random);
  operation.path = Path(random, letter);
  operation.other = Path(random, letter);
  ChooseRange(random, &operation);
  operation.number = static_cast<uint32_t>(seed * 7919 + index);
  if (operation.kind == Kind::kAppend && operation.length > 20000) operation.length = 20000;
  if (operation.kind == Kind::kTruncate && Below(random, 4) == 0) operation.offset = 0;
  ChooseNames(random, &operation);
  return operation;
}

std::string Operation::Data() const {
  std::string data(length, '\0');
  for (uint64_t i = 0; i < length; ++i) {
    data[i] = static_cast<char>(1 + (number * 37 + (offset + i) * 11 + (i >> 8)) % 255);
  }
  return data;
}

std::string ToString(const Operation& operation) {
  std::string name;
  for (const Share& share : kShares) {
    if (share.kind == operation.kind) name = share.name;
  }
  return name + " [" + operation.branch + "] " + operation.path + " " + operation.other + " @" +
         std::to_string(operation.offset) + "+" + std::to_string(operation.length);
}

}  // namespace agentfs::crash
