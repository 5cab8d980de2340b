# Ends what is left in the node's control groups and removes them.
#
# Argument: the state folder, whose file `cgroups` names them. The first process of the node was killed just before;
# the kernel needs a moment for all others.
state=$1
tries=0
while [ "$tries" -lt 300 ]; do
    left=
    while IFS= read -r group; do
        [ -d "$group" ] || continue
        find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r process; do
            kill -s KILL "$process" 2>/dev/null
        done
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
        [ ! -d "$group" ] || left=yes
    done <"$state/cgroups"
    [ -n "$left" ] || exit 0
    tries=$((tries + 1))
    sleep 0.1
done
