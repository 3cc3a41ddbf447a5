package container

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// roleVariable says that a process has to become a container's program.
const roleVariable = "CARDEA_TESTCLUSTER_CONTAINER"

// The file descriptors that Start and Exec pass.
const (
	specFile    = 3
	troubleFile = 4
	mountsFile  = 5 // exec only
)

// Main returns at once, except in a process that Start or Exec has started: this one becomes the container's program.
func Main() {
	role := os.Getenv(roleVariable)
	if role == "" {
		return
	}
	// User, capabilities and file system belong to the thread; exec uses those of the thread that calls it.
	runtime.LockOSThread()
	trouble := os.NewFile(troubleFile, "trouble")
	unix.CloseOnExec(troubleFile)
	err := become(role)
	fmt.Fprint(trouble, err)
	os.Exit(1)
}

// become returns only if it fails.
func become(role string) error {
	in := os.NewFile(specFile, "spec")
	var spec Spec
	if err := json.NewDecoder(in).Decode(&spec); err != nil {
		return fmt.Errorf("read spec: %w", err)
	}
	in.Close()
	if role == "exec" {
		if err := enter(mountsFile); err != nil {
			return err
		}
	} else {
		if err := buildRoot(spec); err != nil {
			return err
		}
		if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
			return fmt.Errorf("set the host name: %w", err)
		}
	}
	if err := os.Chdir("/" + strings.TrimPrefix(spec.Dir, "/")); err != nil {
		return err
	}
	// A program may open /dev/stdout again, which needs permission.
	for _, stream := range []int{1, 2} {
		if err := unix.Fchown(stream, int(spec.User), int(spec.Group)); err != nil {
			return fmt.Errorf("hand over the output: %w", err)
		}
	}
	if err := dropPrivileges(spec); err != nil {
		return err
	}
	path, err := look(spec)
	if err != nil {
		return err
	}
	syscall.Umask(0o022)
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, spec.Argv, spec.Env))
}

// enter joins the mount namespace that a descriptor names.
func enter(fd int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("enter the container: %w", err)
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the container: %w", err)
	}
	return unix.Close(fd)
}

// look finds the program in the PATH of the container.
func look(spec Spec) (string, error) {
	for _, v := range spec.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			if err := os.Setenv("PATH", path); err != nil {
				return "", err
			}
		}
	}
	return exec.LookPath(spec.Argv[0])
}
