package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// gatewayPort is the listener's port in the example.
const gatewayPort = 8080

// use is what the demo needs a port for.
type use struct {
	what string
	port int
}

func (s setup) ports() []use {
	return []use{{"gateway", gatewayPort + s.offset}, {"backend blue", s.blue}, {"backend green", s.green},
		{"admin API", s.admin}}
}

// portsFree tells which port is taken, before anything is started.
func (s setup) portsFree() error {
	for _, u := range s.ports() {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", u.port))
		if err != nil {
			return fmt.Errorf("the %s needs port %d on this machine, but: %w; end what uses it (`ss -ltnp` tells) and try again",
				u.what, u.port, err)
		}
		listener.Close()
	}
	return nil
}

// freePorts chooses ports that nobody uses now.
func (s *setup) freePorts() error {
	var gateway int
	for _, port := range []*int{&gateway, &s.blue, &s.green, &s.admin} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close() // after all are chosen, so that none is chosen twice
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	s.offset = gateway - gatewayPort
	return nil
}

// copyExample copies the example, with the backends' ports changed.
func (s setup) copyExample(example string) error {
	if err := os.CopyFS(s.dir, os.DirFS(example)); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "backends.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	ports := strings.NewReplacer("number: 9001", fmt.Sprintf("number: %d", s.blue), "number: 9002",
		fmt.Sprintf("number: %d", s.green))
	return os.WriteFile(file, []byte(ports.Replace(string(data))), 0o644)
}
