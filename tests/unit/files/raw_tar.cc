// SPDX-License-Identifier: Apache-2.0
#include "raw_tar.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>

namespace agentfs::testing {

RawTar& RawTar::Add(const RawEntry& entry) {
  std::string header(512, '\0');
  auto put = [&](size_t at, size_t room, std::string_view text) {
    std::memcpy(header.data() + at, text.data(), std::min(room, text.size()));
  };
  size_t size =
      entry.claimed_size < 0 ? entry.content.size() : static_cast<size_t>(entry.claimed_size);
  put(0, 100, entry.name);
  put(100, 8, fmt::format("{:07o}", entry.mode));
  put(108, 8, fmt::format("{:07o}", entry.uid));
  put(116, 8, fmt::format("{:07o}", entry.gid));
  put(124, 12, fmt::format("{:011o}", size));
  put(136, 12, fmt::format("{:011o}", 1000));
  header[156] = entry.type;
  put(157, 100, entry.link);
  put(257, 8, std::string_view("ustar\00000", 8));
  put(329, 8, fmt::format("{:07o}", entry.device_major));
  put(337, 8, fmt::format("{:07o}", entry.device_minor));
  std::memset(header.data() + 148, ' ', 8);
  unsigned sum = 0;
  for (char c : header) sum += static_cast<unsigned char>(c);
  put(148, 7, fmt::format("{:06o}", sum));
  header[154] = '\0';
  bytes_ += header + entry.content;
  bytes_.resize((bytes_.size() + 511) / 512 * 512);
  return *this;
}

RawTar& RawTar::Pax(std::initializer_list<std::string> records) {
  std::string content;
  for (const std::string& record : records) {
    size_t length = record.size() + 3;
    while (fmt::format("{} {}\n", length, record).size() != length) ++length;
    content += fmt::format("{} {}\n", length, record);
  }
  return Add({.name = "PaxHeader/x", .type = 'x', .content = content});
}

std::string Zstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

}  // namespace agentfs::testing
