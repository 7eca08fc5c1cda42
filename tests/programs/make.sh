# SPDX-License-Identifier: Apache-2.0
#
# make -j2 of a generated C project: compilers, ar, the linker, running what was linked, and that
# make sees what is newer than what.
. "${BASH_SOURCE%/*}/lib.sh"
need make cc ar

seed() {
  mkdir src
  for i in $(seq 24); do
    printf '#include "all.h"\nint f%d(int x) { return x + %d; }\n' "$i" "$i" >"src/f$i.c"
  done
  { echo '#pragma once'; for i in $(seq 24); do echo "int f$i(int);"; done; } >src/all.h
  {
    printf '#include <stdio.h>\n#include "all.h"\nint main(void) {\n  int x = 0;\n'
    for i in $(seq 24); do echo "  x = f$i(x);"; done
    printf '  printf("%%d\\n", x);\n  return 0;\n}\n'
  } >src/main.c
  cat >Makefile <<'RULES'
objects := $(patsubst src/%.c,out/%.o,$(filter-out src/main.c,$(wildcard src/f*.c)))
program: src/main.c out/liball.a
	cc -g -o $@ $^
shared.so: $(objects)
	cc -shared -o $@ $^
out/liball.a: $(objects)
	rm -f $@
	ar rcs $@ $^
out/%.o: src/%.c src/all.h | out
	cc -g -fPIC -c -o $@ $<
out:
	mkdir -p $@
clean:
	rm -rf out program shared.so
RULES
}

check() {
  make -s -j2 program shared.so
  expect 300 "$(./program)" "sum"
  make -q program || fail "make would build again what it has just built"
  sed -i 's/x + 3;/x + 1003;/' src/f3.c
  if make -q program; then fail "make does not see that a source is newer"; fi
  make -s -j2 program
  expect 1300 "$(./program)" "sum after the change"
  touch src/all.h
  expect 24 "$(make -n program | grep -c 'cc -g -fPIC')" "objects to compile after a header's touch"
  make -s clean
  make -s -j2 program
  expect 1300 "$(./program)" "sum after cleaning"
  strip program
  expect 1300 "$(./program)" "sum of the stripped program"
}

"$1"
