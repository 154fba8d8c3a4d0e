package openai

import "golang.org/x/sys/unix"

// canMeasure tells whether unsent works on this system.
const canMeasure = true

// unsent is the number of bytes in the send queue of a TCP socket, acknowledged ones excluded.
func unsent(fd uintptr) (int, bool) {
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	return n, err == nil
}
