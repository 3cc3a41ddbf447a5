package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// beingWritten asks the kernel whether anyone has the file open for writing: it grants a read lease only if nobody has.
// The lease is given back at once. Where there are no leases (some network file systems, other users' files) it does
// not know.
func beingWritten(f *os.File) (writing, known bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, true
	}
	return true, errors.Is(err, unix.EAGAIN)
}
