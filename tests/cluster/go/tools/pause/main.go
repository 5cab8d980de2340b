// Waits until it is told to end, as the first process of a pod whose namespaces it keeps open.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The kernel drops signals to a PID 1 that has no handler for them.
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
