package postgrestest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const superuser = "cardea"

// Server is a running PostgreSQL.
type Server struct {
	Port int

	password, folder, programs string
	owner                      *syscall.Credential // nil: who runs the tests
	cmd                        *exec.Cmd
	ended                      chan struct{} // closed when cmd has ended
	log                        *os.File
}

// startServer makes a folder with an empty server in it, and runs that.
func startServer(programs string) (*Server, error) {
	s := &Server{programs: programs, password: rand.Text()}
	if err := s.initAndRun(); err != nil {
		return nil, errors.Join(fmt.Errorf("postgrestest: %w", err), s.stopAndRemove())
	}
	return s, nil
}

// initAndRun makes the folder, and runs the server.
func (s *Server) initAndRun() (err error) {
	if s.folder, err = os.MkdirTemp("", "postgres-"); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if s.owner, err = findUnprivilegedUser(); err != nil {
			return err
		}
		if err := os.Chown(s.folder, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
			return err
		}
		if err := s.copyUnreachable(); err != nil {
			return err
		}
	}
	if s.log, err = os.Create(filepath.Join(s.folder, "log")); err != nil {
		return err
	}
	secret := filepath.Join(s.folder, "password")
	if err := os.WriteFile(secret, []byte(s.password), 0o644); err != nil { // in a folder that is the owner's
		return err
	}
	out, err := s.programCommand("initdb", "-D", s.dataFolder(), "-U", superuser, "--pwfile", secret, "-A",
		"scram-sha-256",
		"-E", "UTF8", "--locale", "C").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return s.Run()
}

func (s *Server) dataFolder() string { return filepath.Join(s.folder, "data") }

// Run runs the server (again, after Kill) and waits until it answers. It has the port that it had.
func (s *Server) Run() error {
	var err error
	again := s.cmd != nil
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if !again { // somebody else may take the port first
			if s.Port, err = freePort(); err != nil {
				return err
			}
		}
		if err = s.runOnce(); err == nil {
			return nil
		}
		s.Kill() // of one that was killed, other processes may not have ended yet
	}
	text, _ := os.ReadFile(s.log.Name())
	return fmt.Errorf("postgres does not start: %w\n%s", err, text[max(0, len(text)-4000):])
}

func (s *Server) runOnce() error {
	s.cmd = s.programCommand("postgres", "-D", s.dataFolder(), "-p", strconv.Itoa(s.Port), "-c",
		"listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories="+s.folder, "-c", "fsync=on", "-c", "max_connections=200",
		"-c", "log_min_messages=warning")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // its words are in the log
		close(ended)
	}(s.cmd, s.ended)
	for end := time.Now().Add(startTimeout); ; {
		err := s.execStatement("SELECT 1")
		if err == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-s.ended:
			return errors.New("it ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill ends the server as by kill -9. Its processes see that the first one is gone, and end, too.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// stopAndRemove ends the server at once, and removes its folder.
func (s *Server) stopAndRemove() error {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // an immediate shutdown
		select {
		case <-s.ended:
		case <-time.After(10 * time.Second):
			s.Kill()
		}
	}
	if s.log != nil {
		_ = s.log.Close()
	}
	return os.RemoveAll(s.folder)
}

// programCommand is one of the server's programs, as its owner.
func (s *Server) programCommand(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir = s.folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.folder, "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = attributes(s.owner)
	return cmd
}

// findUnprivilegedUser is who runs the server in place of root.
func findUnprivilegedUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// copyUnreachable copies the programs if their owner can't reach them: root's cache folder is nobody else's.
func (s *Server) copyUnreachable() error {
	if s.programCommand("postgres", "--version").Run() == nil {
		return nil
	}
	root, copied := strings.TrimSuffix(s.programs, inWheel), filepath.Join(s.folder, "programs")
	if root == s.programs {
		return fmt.Errorf("user %d can't run %s", s.owner.Uid, s.programs)
	}
	s.programs = filepath.Join(copied, inWheel)
	return os.CopyFS(copied, os.DirFS(root))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
