# SPDX-License-Identifier: Apache-2.0
#
# fio with verification of what it has written: through calls, mappings and past the cache, by
# several processes, over a file of the base.
. "${BASH_SOURCE%/*}/lib.sh"
need fio

seed() { head -c 16M /dev/zero >base; }

run() {
  local name=$1
  shift
  fio --name="$name" --verify=crc32c --verify_fatal=1 --do_verify=1 --randrepeat=1 --bs=4k \
    --output="$TMPDIR/$name" --fallocate=none --group_reporting "$@" ||
    fail "fio $name: $(tail -30 "$TMPDIR/$name")"
}

check() {
  run base --filename=base --rw=randwrite --size=16M --io_size=4M
  run sequential --filename=new --rw=write --size=32M --bs=128k --end_fsync=1
  run uneven --filename=uneven --rw=randwrite --size=8M --bsrange=512-60k --bs_unaligned=1
  run mapped --filename=mapped --ioengine=mmap --rw=randwrite --size=8M
  run direct --filename=direct --direct=1 --rw=randwrite --size=8M
  run async --filename=async --ioengine=libaio --iodepth=16 --direct=1 --rw=randwrite --size=8M
  run uring --filename=uring --ioengine=io_uring --iodepth=16 --rw=randwrite --size=8M
  run synced --filename=synced --rw=randwrite --size=512k --fsync=8
  run many --directory=. --numjobs=4 --nrfiles=8 --rw=randrw --size=4M
  run trimmed --filename=base --rw=randwrite --size=16M --io_size=4M --ioengine=falloc \
    --verify=0 --do_verify=0
}

"$1"
