# SPDX-License-Identifier: Apache-2.0
#
# The words people type. CMakePresets.json has the configurations, tools/ the scripts.

prefix ?= /usr/local
preset ?= release

.PHONY: all test bench bench-mount asan tsan bench-run bench-mcp format format-check tidy layers install package clean help

all: ## the program, optimised: build/release/bin/agentfs
	@tools/install-deps build
	@tools/build release agentfs

test: ## build and run the tests
	@tools/install-deps test
	@tools/build dev
	@tools/test dev

bench: ## build and run the benchmarks
	@tools/install-deps bench
	@tools/build bench
	@tools/bench

bench-mount: ## compare a mount with the disk, overlayfs and fuse-overlayfs (ARGS=--quick)
	@tools/install-deps bench-mount
	@tools/build release agentfs
	@python3 -B bench/mount $(ARGS)

bench-run: ## how long agentfs run takes to start and end
	@tools/install-deps build
	@tools/build release agentfs
	@python3 -B bench/sandbox $(ARGS)

bench-mcp: ## how many calls of tools agentfs mcp answers
	@tools/install-deps build
	@tools/build release agentfs
	@python3 -B bench/mcp $(ARGS)

asan: ## the tests with AddressSanitizer and UndefinedBehaviorSanitizer, built by clang
	@tools/install-deps all
	@tools/build asan
	@tools/test asan

tsan: ## the tests with ThreadSanitizer
	@tools/install-deps test
	@tools/build tsan
	@tools/test tsan

format: ## rewrite the sources in the project's format
	@tools/install-deps all
	@tools/format

format-check: ## fail if a source is not in the project's format
	@tools/install-deps all
	@tools/format --check

tidy: ## clang-tidy and clang's thread-safety analysis
	@tools/install-deps all
	@tools/build tidy

layers: ## fail on an include against the direction of the folders
	@tools/check_layers

install: ## into $(DESTDIR)$(prefix): program, manual, completions, library
	@tools/install-deps build
	@tools/build release
	cmake --install build/release --prefix $(prefix)

package: ## the Debian package: build/release/agentfs_*.deb, tried out in a directory of its own
	@tools/install-deps build
	@tools/build $(preset)
	@cd build/$(preset) && cpack -G DEB
	@tools/check_package build/$(preset)

clean: ## remove everything built
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile
