#!/bin/sh
# Process 1 of the virtual machine, started by the image's /vm-init with the console as its output. It prepares the machine,
# runs the command, reports its exit code and powers off. Ports: ttyS0 console, ttyS1 output, ttyS2 exit code.

export PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
export HOME=/root LANG=C.UTF-8 HOTCELL_VM=1

mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs /dev/shm
mount -t tmpfs -o nosuid,nodev,mode=0755 tmpfs /run
mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs /tmp
for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do
  ln -sf "${link#*:}" "/dev/${link%%:*}"
done

# The options are systemd's, so that what is proved here holds where it does the mounting.
mount -t cgroup2 -o nosuid,nodev,noexec,nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup
echo '+memory +cpu +pids' >/sys/fs/cgroup/cgroup.subtree_control

busybox hostname hotcell-vm
busybox ip link set lo up
mv /hotcell/.vm-command /run/vm-command

# The command gets a pipe and not the port, which is a terminal: programs would colour their output, and a reader that is
# slow would be lost on. Raw, or every newline becomes two characters.
stty -F /dev/ttyS1 raw -echo
mkfifo /run/vm-output
cat /run/vm-output >/dev/ttyS1 &
forwarder=$!

cd /hotcell || exit
setsid sh /run/vm-command </dev/null >/run/vm-output 2>&1
exitCode=$?

# What the command left running still holds the pipe, and the forwarder ends only when nobody does.
for process in /proc/[0-9]*; do
  process=${process#/proc/}
  [ "$process" = 1 ] || [ "$process" = "$forwarder" ] || kill -9 "$process" 2>/dev/null
done
wait "$forwarder"

echo "$exitCode" >/dev/ttyS2
busybox poweroff -f
