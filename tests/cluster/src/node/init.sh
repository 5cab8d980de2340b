# Becomes the first process of the node, in process and mount namespaces of its own: when it dies, the kernel ends
# every process of the node, and with the last of them go all mounts.
#
# Argument: the state folder. Orders and answers of the supervisor that it turns into go through two FIFOs there.
set -eu
state=$1

# Whoever cleans up knows by these groups whether a process is left. 0 is the one who writes.
while IFS= read -r group; do
    echo 0 >"$group/system/cgroup.procs"
done <"$state/cgroups"

# As systemd has it, and containers with mount propagation need it; nothing gets out, since the namespace began private.
mount --make-rshared /
# Fixed paths of containerd, runc and the kubelet: sockets of shims, network namespaces, device plugins, links to logs.
for folder in /run /var/lib /var/log; do
    mount -t tmpfs -o mode=755 tmpfs "$folder"
done
# The kubelet sets these to the values that it finds here already. They are the machine's, not the node's.
for file in "$state"/sysctl/*; do
    mount --bind "$file" "/proc/sys/$(basename "$file" | tr , /)"
done

exec 0<>"$state/node.orders" 1<>"$state/node.answers"
exec /bin/sh "$state/supervisor.sh" "$state/node"
