// SPDX-License-Identifier: Apache-2.0
//
// Deciding about a script of 2,000 characters, and about a short command.
#include <benchmark/benchmark.h>

#include <string>

#include "policy/policy.h"
#include "policy/shell/parse.h"

namespace agentfs::policy {
namespace {

// Lines as agents write them, repeated to the length.
std::string ScriptOf(size_t length) {
  const std::string lines =
      "set -euo pipefail\n"
      "cd \"$ROOT/src\" && git status --short | head -20\n"
      "for f in $(find . -name '*.c' -not -path './build/*'); do\n"
      "  if ! grep -q 'SPDX' \"$f\"; then sed -i \"1i // SPDX\" \"$f\"; fi\n"
      "done\n"
      "cat <<EOF >notes.txt\n$(date) built by ${USER:-nobody}\nEOF\n"
      "timeout 600 env CC=clang make -j8 2>&1 | tee build.log\n"
      "bash -lc 'pytest -q tests && rm -rf .cache'\n";
  std::string script;
  while (script.size() + lines.size() <= length) script += lines;
  script += "#";
  script.resize(length, 'x');
  return script;
}

PolicyRequest RequestFor(std::string text) {
  PolicyRequest request;
  request.text = std::move(text);
  request.surroundings.root = request.surroundings.directory = "/srv/project";
  return request;
}

void BM_PolicyCheckScript(benchmark::State& state) {
  const PolicySet policies({});
  const PolicyRequest request = RequestFor(ScriptOf(static_cast<size_t>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(policies.Decide(request));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_PolicyCheckScript)->Arg(2000)->Arg(20000)->Unit(benchmark::kMicrosecond);

void BM_PolicyCheckCommand(benchmark::State& state) {
  const PolicySet policies({});
  const PolicyRequest request = RequestFor("git status && make -j8");
  for (auto _ : state) benchmark::DoNotOptimize(policies.Decide(request));
}
BENCHMARK(BM_PolicyCheckCommand)->Unit(benchmark::kMicrosecond);

void BM_ParseScript(benchmark::State& state) {
  const std::string script = ScriptOf(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(shell::ParseScript(script));
}
BENCHMARK(BM_ParseScript)->Arg(2000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace agentfs::policy

BENCHMARK_MAIN();
