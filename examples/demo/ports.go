package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// gatewayPort is the listener's port in the examples.
const gatewayPort = 8080

// adminPort is the port of the admin API, in the foreground and in a prometheus.conf.
const adminPort = 9900

// use is a use of a port by the demo.
type use struct {
	what string
	port int
}

func (s setup) ports() []use {
	list := []use{{"gateway", gatewayPort + s.offset}, {"backend blue", s.blue}, {"backend green", s.green},
		{"admin API", s.admin}}
	if s.prometheus != "" {
		list = append(list, use{"dashboard", s.dashboard})
	}
	return list
}

// portsFree returns an error that names a port in use, before anything is started.
func (s setup) portsFree() error {
	for _, u := range s.ports() {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", u.port))
		if err != nil {
			return fmt.Errorf("the %s needs port %d on this machine, but: %w; end the program that uses it (find it with "+
				"`ss -ltnp`) and try again",
				u.what, u.port, err)
		}
		listener.Close()
	}
	return nil
}

// freePorts selects ports that are not in use.
func (s *setup) freePorts() error {
	var gateway int
	for _, port := range []*int{&gateway, &s.blue, &s.green, &s.admin, &s.dashboard} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close() // after all are selected, so that none is selected twice
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	s.offset = gateway - gatewayPort
	return nil
}

// copyExample copies the example, with the ports of the backends and of the admin API changed.
func (s setup) copyExample(example string) error {
	if err := os.CopyFS(s.dir, os.DirFS(example)); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "*.*"))
	if err != nil {
		return err
	}
	ports := strings.NewReplacer(
		"number: 9001", fmt.Sprintf("number: %d", s.blue), "number: 9002", fmt.Sprintf("number: %d", s.green),
		"port: 9001", fmt.Sprintf("port: %d", s.blue), "port: 9002", fmt.Sprintf("port: %d", s.green),
		fmt.Sprintf("127.0.0.1:%d", adminPort), fmt.Sprintf("127.0.0.1:%d", s.admin),
	)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(ports.Replace(string(data))), 0o644); err != nil {
			return err
		}
	}
	return nil
}
