// SPDX-License-Identifier: Apache-2.0
#include "cli/console_stream.h"

namespace agentfs::cli {
namespace {

constexpr size_t kInput = 256 << 10;

}  // namespace

CommandFileBuffer::CommandFileBuffer(const Console& console)
    : file_(Streams{.in = console.streams().in,
                    .out = console.streams().in,
                    .err = console.streams().err,
                    .client = console.streams().client}) {}

CommandFileBuffer::int_type CommandFileBuffer::underflow() {
  if (!input_) input_ = std::make_unique_for_overwrite<char[]>(kInput);
  Result<size_t> got = file_.Read({input_.get(), kInput});
  if (!got.ok()) state_ = got.error();
  if (!got.ok() || *got == 0) return traits_type::eof();
  setg(input_.get(), input_.get(), input_.get() + *got);
  return traits_type::to_int_type(*gptr());
}

CommandFileBuffer::int_type CommandFileBuffer::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char one = traits_type::to_char_type(byte);
  return xsputn(&one, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize CommandFileBuffer::xsputn(const char* bytes, std::streamsize count) {
  if (state_.ok()) state_ = file_.Write({bytes, static_cast<size_t>(count)});
  return state_.ok() ? count : 0;
}

int CommandFileBuffer::sync() {
  if (state_.ok()) state_ = file_.Flush();
  return state_.ok() ? 0 : -1;
}

}  // namespace agentfs::cli
