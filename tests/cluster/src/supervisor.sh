# Holds the parts of one cluster, so that none of them outlives the process that wanted them.
#
# Argument: the state folder, which must not exist yet. Orders come on stdin, one a line; each is answered
# with one line on stdout. When stdin ends, however its writer ended, every part is killed, the last
# started first (so the store goes last), `cleanup.sh` is run if the folder has one, and the folder is removed.
#
#   start NAME   runs the program and arguments in NAME.argv, one a line   "started PID"
#   end NAME     kills it and waits for it                                 "ended STATUS"
#   detach       lives on without its starter, orders come from a FIFO     "detached"
#   finish       as the end of stdin
#
# A part is waited for only in `end`. Until then its process id stays taken, even when it has died, so a
# signal never reaches a stranger. This shell must lead its own process group: the last line ends the group.
set -u
umask 077
state=$1
parts=

start() {
    name=$1
    set --
    while IFS= read -r argument; do
        set -- "$@" "$argument"
    done <"$state/$name.argv"
    "$@" </dev/null >>"$state/$name.log" 2>&1 &
    echo "$!" >"$state/$name.pid"
    case " $parts " in
    *" $name "*) ;;
    *) parts="$name $parts" ;;
    esac
    echo "started $!"
}

end() {
    status=none
    if [ -f "$state/$1.pid" ]; then
        read -r pid <"$state/$1.pid"
        kill -s KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        status=$?
        rm -f "$state/$1.pid"
    fi
}

finish() {
    trap '' HUP INT TERM PIPE
    for part in $parts; do
        end "$part"
    done
    if [ -f "$state/cleanup.sh" ]; then
        /bin/sh "$state/cleanup.sh" "$state"
    fi
    rm -rf "$state"
    kill -s KILL 0
}

mkdir "$state" || exit 1
echo "$$" >"$state/supervisor.pid"
# PIPE: an answer that nobody reads any more tells the same as the end of stdin. A handler, unlike ignoring the signal,
# is not handed on to the parts.
trap finish HUP INT TERM PIPE
echo ready

while read -r order name; do
    case $order in
    start) start "$name" ;;
    end)
        end "$name"
        echo "ended $status"
        ;;
    detach)
        mkfifo "$state/orders"
        # Open for reading and writing: the FIFO then has a writer for ever, and `read` never sees its end.
        exec 0<>"$state/orders"
        echo detached
        exec 1>/dev/null
        ;;
    finish) break ;;
    esac
done
finish
