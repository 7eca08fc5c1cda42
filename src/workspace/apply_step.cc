// SPDX-License-Identifier: Apache-2.0
#include "workspace/apply_step.h"

#include <charconv>

namespace agentfs {
namespace {

constexpr std::string_view kMagic = "agentfs apply 2";

// Fields with their length before them: names and values are any bytes.
class FieldWriter {
 public:
  FieldWriter& Text(std::string_view text) {
    out_ += std::to_string(text.size());
    out_.push_back(':');
    out_ += text;
    return *this;
  }
  FieldWriter& Number(int64_t number) { return Text(std::to_string(number)); }
  FieldWriter& Time(const Timestamp& time) { return Number(time.sec).Number(time.nsec); }
  FieldWriter& List(const std::vector<std::string>& list) {
    Number(static_cast<int64_t>(list.size()));
    for (const std::string& each : list) Text(each);
    return *this;
  }
  FieldWriter& Attributes(const HostAttributes& a) {
    Number(a.mode).Number(a.uid).Number(a.gid).Time(a.atime).Time(a.mtime);
    Number(static_cast<int64_t>(a.xattrs.size()));
    for (const auto& [name, value] : a.xattrs) Text(name).Text(value);
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view in) : in_(in) {}

  std::string Text() {
    const size_t colon = in_.find(':');
    const size_t size = ParseNumber(in_.substr(0, std::min(colon, in_.size())));
    if (colon == in_.npos || in_.size() - colon - 1 < size) ok_ = false;
    if (!ok_) return {};
    std::string text(in_.substr(colon + 1, size));
    in_.remove_prefix(colon + 1 + size);
    return text;
  }
  int64_t Number() { return ParseNumber(Text()); }
  // How many of something follow: no more than there are bytes.
  size_t Count() {
    const int64_t count = Number();
    if (count < 0 || static_cast<size_t>(count) > in_.size()) ok_ = false;
    return ok_ ? static_cast<size_t>(count) : 0;
  }
  Timestamp Time() {
    const int64_t sec = Number();
    return {sec, static_cast<uint32_t>(Number())};
  }
  std::vector<std::string> List() {
    std::vector<std::string> list;
    for (size_t left = Count(); left > 0 && ok_; --left) list.push_back(Text());
    return list;
  }
  HostAttributes Attributes() {
    HostAttributes a;
    a.mode = static_cast<uint32_t>(Number());
    a.uid = static_cast<uint32_t>(Number());
    a.gid = static_cast<uint32_t>(Number());
    a.atime = Time();
    a.mtime = Time();
    for (size_t left = Count(); left > 0 && ok_; --left) {
      std::string name = Text();
      a.xattrs[std::move(name)] = Text();
    }
    return a;
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return in_.empty(); }

 private:
  int64_t ParseNumber(std::string_view digits) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) ok_ = false;
    return number;
  }
  std::string_view in_;
  bool ok_ = true;
};

void WriteStep(FieldWriter& out, const ApplyStep& step) {
  out.Number(static_cast<int64_t>(step.kind)).Text(step.path).Text(step.other).Text(step.temp);
  out.Text(step.keep).Number(step.replaces ? 1 : 0).Attributes(step.before).Attributes(step.after);
  out.Number(static_cast<int64_t>(step.inode)).Number(static_cast<int64_t>(step.size));
}

ApplyStep ReadStep(FieldReader& in) {
  ApplyStep step;
  step.kind = static_cast<ApplyStep::Kind>(in.Number());
  step.path = in.Text();
  step.other = in.Text();
  step.temp = in.Text();
  step.keep = in.Text();
  step.replaces = in.Number() != 0;
  step.before = in.Attributes();
  step.after = in.Attributes();
  step.inode = static_cast<uint64_t>(in.Number());
  step.size = static_cast<uint64_t>(in.Number());
  return step;
}

}  // namespace

std::string EncodeRecord(const ApplyRecord& record) {
  FieldWriter out;
  out.Text(kMagic).Text(record.branch).Text(record.snapshot).Number(record.time_ns);
  out.Number(record.whole ? 1 : 0);
  out.List(record.settle).List(record.merged);
  out.Number(static_cast<int64_t>(record.steps.size()));
  for (const ApplyStep& step : record.steps) WriteStep(out, step);
  out.Number(static_cast<int64_t>(record.directories.size()));
  for (const DirectoryTimes& each : record.directories) {
    out.Text(each.path).Time(each.atime).Time(each.mtime);
  }
  out.Number(static_cast<int64_t>(record.moved.size()));
  for (const MovedBase& each : record.moved) {
    out.Number(static_cast<int64_t>(each.identity)).Text(each.from).Text(each.to);
  }
  return out.Take();
}

Result<ApplyRecord> DecodeRecord(std::string_view text) {
  FieldReader in(text);
  ApplyRecord record;
  const bool known = in.Text() == kMagic;
  record.branch = in.Text();
  record.snapshot = in.Text();
  record.time_ns = in.Number();
  record.whole = in.Number() != 0;
  record.settle = in.List();
  record.merged = in.List();
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) record.steps.push_back(ReadStep(in));
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    DirectoryTimes times;
    times.path = in.Text();
    times.atime = in.Time();
    times.mtime = in.Time();
    record.directories.push_back(std::move(times));
  }
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    MovedBase moved;
    moved.identity = static_cast<uint64_t>(in.Number());
    moved.from = in.Text();
    moved.to = in.Text();
    record.moved.push_back(std::move(moved));
  }
  if (!known || !in.ok() || !in.AtEnd())
    return Error(EBADMSG, "the journal of an apply is damaged");
  return record;
}

}  // namespace agentfs
