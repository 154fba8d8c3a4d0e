package openai

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canMeasure tells whether unsent works on this system.
const canMeasure = true

// unsent is the number of bytes in the send queue of a TCP socket, acknowledged ones excluded.
func unsent(fd uintptr) (int, bool) {
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	return n, err == nil
}

// write is write(2) on a socket that does not block. The runtime is not told: that a writer spends most of its time in
// short calls would make it take the processor away and give it back all the time, at a seventh of a server's CPU.
func write(fd uintptr, b []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
