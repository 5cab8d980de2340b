// Two containers of one pod talk over a Unix socket.
//
//	socket listen PATH        accepts one connection and prints what comes
//	socket connect PATH TEXT  waits for the socket and sends the text
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "socket:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 2 && arguments[0] == "listen":
		return listen(arguments[1])
	case len(arguments) == 3 && arguments[0] == "connect":
		return connect(arguments[1], arguments[2])
	}
	return fmt.Errorf("unknown arguments %q", arguments)
}

func listen(path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	connection, err := listener.Accept()
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, connection)
	return err
}

func connect(path, text string) error {
	var connection net.Conn
	var err error
	for range 600 {
		if connection, err = net.Dial("unix", path); err == nil {
			defer connection.Close()
			_, err = io.WriteString(connection, text)
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
