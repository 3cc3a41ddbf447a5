package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"cardea.dev/cardea/internal/core/model"
)

// Writable says why a file can't be written to by this process; "" if it can. A file that is not there can be made if
// its folder can be written to.
func Writable(path string) (why string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return folder(filepath.Dir(path))
	case err != nil:
		return reason(err)
	case info.IsDir():
		return fmt.Sprintf("%s is a folder; write the path of a file", path)
	case info.Mode()&fs.ModeSocket != 0:
		return fmt.Sprintf("%s is a socket; write the path of a file", path)
	case info.Mode()&fs.ModeNamedPipe != 0:
		return pipe(path)
	}
	if err := unix.Access(path, unix.W_OK); err != nil {
		return fmt.Sprintf("%s can't be written to: %v", path, err)
	}
	return ""
}

// pipe says why a pipe can't be written to: a proxy that opens one which nobody reads waits for a reader.
func pipe(path string) string {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Sprintf("nobody reads the pipe %s: %s", path, reason(err))
	}
	if err := f.Close(); err != nil {
		return reason(err)
	}
	return ""
}

// folder says why no file can be made in a folder.
func folder(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("folder %s does not exist; make it", path)
	case err != nil:
		return reason(err)
	case !info.IsDir():
		return fmt.Sprintf("%s is not a folder", path)
	}
	if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Sprintf("no file can be made in folder %s: %v", path, err)
	}
	return ""
}

func reason(err error) string {
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s can't be reached: %v", wrong.Path, wrong.Err)
	}
	return err.Error()
}

func look(path string) model.FileState { return model.FileState{Wrong: Writable(path)} }
