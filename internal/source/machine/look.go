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

// WriteProblem says why a file can't be written to by this process; "" if it can. A file that is not there can be made
// if its folder can be written to.
func WriteProblem(path string) (why string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return folderProblem(filepath.Dir(path))
	case err != nil:
		return describeError(err)
	case info.IsDir():
		return fmt.Sprintf("%s is a folder; write the path of a file", path)
	case info.Mode()&fs.ModeSocket != 0:
		return fmt.Sprintf("%s is a socket; write the path of a file", path)
	case info.Mode()&fs.ModeNamedPipe != 0:
		return pipeProblem(path)
	}
	if err := unix.Access(path, unix.W_OK); err != nil {
		return fmt.Sprintf("%s can't be written to: %v", path, err)
	}
	return ""
}

// pipeProblem says why a pipe can't be written to: a proxy that opens one which nobody reads waits for a reader.
func pipeProblem(path string) string {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Sprintf("no process reads the pipe %s: %s", path, describeError(err))
	}
	if err := f.Close(); err != nil {
		return describeError(err)
	}
	return ""
}

// folderProblem says why no file can be made in a folder.
func folderProblem(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("folder %s does not exist; make it", path)
	case err != nil:
		return describeError(err)
	case !info.IsDir():
		return fmt.Sprintf("%s is not a folder", path)
	}
	if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Sprintf("no file can be created in folder %s: %v", path, err)
	}
	return ""
}

func describeError(err error) string {
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s can't be reached: %v", wrong.Path, wrong.Err)
	}
	return err.Error()
}

func checkFile(path string) model.FileState { return model.FileState{Problem: WriteProblem(path)} }
