// SPDX-License-Identifier: Apache-2.0
//
// A database whose rows are damaged though the file is sound: what an editor, a bug or a bad disk
// may leave. An input is a list of changes to the rows of a good volume:
//   one byte: the row (its number, modulo how many there are)
//   one byte: what: delete it, or exchange bytes of its key, value or blob, or of a copy's key
//   one byte: where in it
//   one byte: how many bytes follow (modulo 16), to be put there
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/stores.h"
#include "agentfs/volume.h"
#include "require.h"
#include "store/schema.h"
#include "volume_exercise.h"

namespace agentfs {
namespace {

struct StoredRow {
  TableId table;
  std::string key, value, blob;
};

// Can be opened by one volume after the other.
class SharedStore : public Store {
 public:
  explicit SharedStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  Result<std::optional<Row>> Get(TableId table, std::string_view key) override {
    return store_->Get(table, key);
  }
  Result<void> Scan(const ScanRange& range, const Visitor& visit) override {
    return store_->Scan(range, visit);
  }
  Result<void> Commit(const Batch& batch, Durability durability) override {
    return store_->Commit(batch, durability);
  }
  Result<void> Close() override { return Ok(); }
  StoreCapabilities capabilities() const override { return store_->capabilities(); }
  Result<Usage> GetUsage() override { return store_->GetUsage(); }

 private:
  const std::shared_ptr<Store> store_;
};

// A store whose rows can be had after the volume has closed it.
std::vector<StoredRow> MakeGoodRows() {
  auto store = OpenMemoryStore(VolumeSchema()).value();
  Store* rows_of = store.get();
  auto volume = Volume::Open(std::move(store), nullptr, nullptr, {}).value();
  FillVolume(*volume);
  REQUIRE(volume->Flush(Durability::kNone).ok());
  std::vector<StoredRow> rows;
  for (size_t table = 0; table < VolumeSchema().tables.size(); ++table) {
    ScanRange range;
    range.table = static_cast<TableId>(table);
    REQUIRE(rows_of
                ->Scan(range,
                       [&](const RowView& row) {
                         rows.push_back({range.table, std::string(row.key), std::string(row.value),
                                         std::string(row.blob)});
                         return Visit::kContinue;
                       })
                .ok());
  }
  REQUIRE(volume->Close().ok());
  return rows;
}

void OverwriteAt(std::string& target, size_t at, std::string_view bytes) {
  if (target.empty()) return;
  at %= target.size();
  target.replace(at, std::min(bytes.size(), target.size() - at), bytes);
}

void Damage(std::vector<StoredRow>& rows, std::string_view changes) {
  while (changes.size() >= 4 && !rows.empty()) {
    auto byte = [&](size_t i) { return static_cast<uint8_t>(changes[i]); };
    size_t index = byte(0) % rows.size();
    size_t at = byte(2);
    int what = byte(1) % 8;
    std::string_view bytes = changes.substr(4, byte(3) % 16);
    changes.remove_prefix(4 + bytes.size());
    StoredRow& row = rows[index];
    if (what == 0) {
      rows.erase(rows.begin() + static_cast<ptrdiff_t>(index));
    } else if (what == 1) {
      OverwriteAt(row.key, at, bytes);
    } else if (what == 2) {
      StoredRow copy = row;
      OverwriteAt(copy.key, at, bytes);
      rows.push_back(std::move(copy));
    } else if (what == 3) {
      OverwriteAt(row.blob, at, bytes);
    } else if (what == 4) {
      row.value.resize(at % (row.value.size() + 1));
    } else {
      OverwriteAt(row.value, at, bytes);
    }
  }
}

void Run(std::string_view input) {
  static const std::vector<StoredRow> good = MakeGoodRows();
  std::vector<StoredRow> rows = good;
  Damage(rows, input);
  Batch batch;
  for (const StoredRow& row : rows) {
    batch.Put(row.table, row.key, row.value, Buffer::Copy(row.blob));
  }
  std::shared_ptr<Store> store = OpenMemoryStore(VolumeSchema()).value();
  if (!store->Commit(batch, Durability::kNone).ok()) return;
  auto volume = Volume::Open(std::make_unique<SharedStore>(store), nullptr, nullptr, {});
  if (volume.ok()) return ExerciseVolume(**volume);
  if (volume.code() != EBADMSG) return;  // content in objects
  REQUIRE(CheckVolumeTables(*store, true).ok());
  REQUIRE(CheckVolumeTables(*store, false).value().clean());
  volume = Volume::Open(std::make_unique<SharedStore>(store), nullptr, nullptr, {});
  REQUIRE(volume.ok());
  ExerciseVolume(**volume);
}

}  // namespace
}  // namespace agentfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  agentfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
