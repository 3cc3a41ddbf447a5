package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// role is the environment variable that tells a started program which of the three it is.
const role = "CARDEA_TESTCLUSTER_ROLE"

// outsideNetwork is the descriptor of the outside's network namespace in init and inside.
const outsideNetwork = 3

// forwarded are the signals that reach the program inside wherever they are sent to.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
}

var isInside bool

// Inside reports whether this program runs in a sandbox.
func Inside() bool { return isInside }

// Supported returns nil if this process can make a sandbox, else an error that says what is missing.
func Supported() error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root")
	}
	return nil
}

// Enter returns nil in the program inside, and only there: the one outside starts it and ends when it does, with the
// same exit code. prepare runs outside first; what it returns ("NAME=value") is added to the environment inside. An
// error says that there is no sandbox, and the program still is outside.
func Enter(prepare func() (env []string, err error)) error {
	switch os.Getenv(role) {
	case "init":
		os.Exit(initialize())
	case "inside":
		isInside = true
		unix.CloseOnExec(outsideNetwork)
		return os.Unsetenv(role)
	case "heir":
		isInside = true
		return os.Unsetenv(role)
	}
	if err := Supported(); err != nil {
		return err
	}
	env, err := prepare()
	if err != nil {
		return err
	}
	code, err := outside(env)
	if err == nil {
		os.Exit(code)
	}
	return err
}

// Heir is the environment variable ("NAME=value") by which Enter, in a program that one inside starts, returns nil in
// the same sandbox. Listen does not work there.
func Heir() string { return role + "=heir" }

// outside starts init and waits for its end.
func outside(env []string) (code int, err error) {
	network, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return 0, err
	}
	defer network.Close()

	cmd := program("init", env)
	cmd.ExtraFiles = []*os.File{network}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // a Ctrl-C comes through here, and so once
	}
	// The kernel sends Pdeathsig when the thread ends that started the child, so this goroutine keeps it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("make namespaces: %w", err)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exitCode(exit.Sys().(syscall.WaitStatus)), nil
	}
	return 0, err
}

// program is this program again, in another role.
func program(as string, env []string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, role+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, env...), role+"="+as)
	return cmd
}

// exitCode is what a shell would call the end of a process.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
