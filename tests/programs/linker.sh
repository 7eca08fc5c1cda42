# SPDX-License-Identifier: Apache-2.0
#
# Linkers and what maps files: each linker that is there writes its output through a mapping, and
# the result runs, from the tree and as a library.
. "${BASH_SOURCE%/*}/lib.sh"
need cc ar ranlib

seed() {
  for i in $(seq 8); do
    printf 'const char table%d[300000] = {%d};\nint get%d(void) { return table%d[0]; }\n' \
      "$i" "$i" "$i" "$i" >"t$i.c"
  done
  printf 'int get8(void);\nint get3(void);\nint main(void) { return get8() - get3() - 5; }\n' >main.c
}

check() {
  cc -g -O1 -fPIC -c t*.c main.c
  ar rc libt.a t*.o
  ranlib libt.a
  local linker
  for linker in bfd gold lld; do
    command -v "ld.$linker" >/dev/null || continue
    cc -fuse-ld=$linker -o "by-$linker" main.o libt.a
    "./by-$linker" || fail "what ld.$linker has linked is wrong"
    cc -fuse-ld=$linker -shared -o "lib$linker.so" t*.o
    cc -fuse-ld=$linker -o "shared-$linker" main.o -L. "-l$linker" -Wl,-rpath,"$PWD"
    "./shared-$linker" || fail "the library of ld.$linker is wrong"
    # Once more over its own output.
    cc -fuse-ld=$linker -o "by-$linker" main.o libt.a
    "./by-$linker"
  done
  objcopy --only-keep-debug by-bfd by-bfd.debug
  strip by-bfd
  objcopy --add-gnu-debuglink=by-bfd.debug by-bfd
  ./by-bfd
}

"$1"
