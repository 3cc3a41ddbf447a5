package container_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/cluster/container"
	"cardea.dev/cardea/internal/test/cluster/sandbox"
)

var node = netip.MustParseAddr("10.95.0.1")

var missing error

func TestMain(m *testing.M) {
	container.Main()
	missing = sandbox.Enter(func() ([]string, error) { return nil, nil })
	if missing == nil {
		if _, err := container.Local(netip.PrefixFrom(node, 32)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// require skips a test where there are no containers.
func require(t *testing.T) {
	t.Helper()
	if missing != nil && os.Getenv("CI") != "" {
		t.Fatalf("left out: %v", missing)
	} else if missing != nil {
		t.Skipf("left out: %v", missing)
	}
}

var last atomic.Uint32

func newNetwork(t *testing.T, sysctls map[string]string) *container.Network {
	t.Helper()
	require(t)
	n, err := container.NewNetwork(netip.AddrFrom4([4]byte{10, 98, 1, byte(last.Add(1))}), node, sysctls)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// shell is a spec that runs a script.
func shell(t *testing.T, script string) container.Spec {
	return container.Spec{
		Hostname: "box", Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Root: t.TempDir(),
		Capabilities: container.DefaultCapabilities(),
	}
}

// run runs it to its end.
func run(t *testing.T, n *container.Network, spec container.Spec) (string, container.Exit) {
	t.Helper()
	var out bytes.Buffer
	p, err := container.Start(n, spec, &out, &out)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	return out.String(), p.Exit()
}

// TestPlace tells what a program sees.
func TestPlace(t *testing.T) {
	n := newNetwork(t, nil)
	volume := t.TempDir()
	if err := os.WriteFile(filepath.Join(volume, "key"), []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		script string
		change func(*container.Spec)
		want   string
	}{
		"pid":       {script: "echo $$", want: "1"},
		"host name": {script: "cat /proc/sys/kernel/hostname", want: "box"},
		"file": {script: "cat /etc/hosts",
			change: func(s *container.Spec) { s.Files = map[string]string{"/etc/hosts": "hello"} }, want: "hello"},
		"nothing": {script: "ls /root /mnt", want: "cannot access '/mnt'"},
		"root":    {script: "id -u; chown 7 /tmp && echo changed", want: "0\nchanged"},
		"user": {script: "id -u; id -g; id -G",
			change: func(s *container.Spec) { s.User, s.Group, s.Groups = 7, 8, []uint32{9} }, want: "7\n8\n8 9"},
		"no rights": {script: "chown 7 /tmp", change: func(s *container.Spec) { s.Capabilities = nil },
			want: "Operation not permitted"},
		"mount":      {script: "cat /etc/x/y/key", change: mount(volume, "/etc/x/y", true), want: "value"},
		"one file":   {script: "cat /k", change: mount(volume+"/key", "/k", true), want: "value"},
		"no writing": {script: "echo 1 >/etc/x/new", change: mount(volume, "/etc/x", true), want: "Read-only file system"},
		"writing":    {script: "echo 1 >/etc/x/new && cat /etc/x/new", change: mount(volume, "/etc/x", false), want: "1"},
		"root ro": {script: "echo 1 >/new", change: func(s *container.Spec) { s.ReadOnly = true },
			want: "Read-only file system"},
		"stdout":  {script: "echo 1 >/dev/stdout", change: func(s *container.Spec) { s.User = 7 }, want: "1"},
		"host's":  {script: "echo 1 >/usr/bin/new", want: "Read-only file system"},
		"address": {script: "cat /proc/net/fib_trie", want: n.Address.String()},
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell(t, c.script)
			if c.change != nil {
				c.change(&spec)
			}
			if out, _ := run(t, n, spec); !strings.Contains(out, c.want) {
				t.Errorf("%q, want %q", out, c.want)
			}
		})
	}
}

func mount(source, target string, readOnly bool) func(*container.Spec) {
	return func(s *container.Spec) {
		s.Mounts = []container.Mount{{Source: source, Target: target, ReadOnly: readOnly}}
	}
}

func TestExit(t *testing.T) {
	n := newNetwork(t, nil)
	if _, exit := run(t, n, shell(t, "exit 3")); exit.Code != 3 || exit.Signal != 0 {
		t.Error(exit)
	}
	p, err := container.Start(n, shell(t, "exec sleep 1000"), io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	<-p.Done()
	if exit := p.Exit(); exit != (container.Exit{Code: 137, Signal: 9}) {
		t.Error(exit)
	}
	spec := shell(t, "")
	spec.Argv = []string{"/no/such"}
	if _, err := container.Start(n, spec, io.Discard, io.Discard); !errors.Is(err, container.ErrStart) {
		t.Error(err)
	}
}

// TestExec runs a program beside another one.
func TestExec(t *testing.T) {
	spec := shell(t, "echo here >/tmp/x; exec sleep 1000")
	spec.User = 7
	p, err := container.Start(newNetwork(t, nil), spec, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	var out bytes.Buffer
	exit, err := p.Exec([]string{"sh", "-c", "until cat /tmp/x 2>/dev/null; do :; done; id -u; cat /proc/1/comm; exit 5"},
		&out, &out)
	if err != nil || exit.Code != 5 || out.String() != "here\n7\nsleep\n" {
		t.Errorf("%v %v %q", err, exit, out.String())
	}
}

// TestNetwork lets the node call a pod, and a pod call another.
func TestNetwork(t *testing.T) {
	server, client := newNetwork(t, nil), newNetwork(t, nil)
	// perl is in every Debian; it prints who called.
	const script = `use IO::Socket::INET; $| = 1;
		$l = IO::Socket::INET->new(LocalPort => 80, Listen => 5, ReuseAddr => 1) or die $@; print "ready\n";
		while ($c = $l->accept) { print $c $c->peerhost; close $c }`
	ready, out := io.Pipe()
	spec := shell(t, "")
	spec.Argv = []string{"perl", "-e", script}
	p, err := container.Start(server, spec, out, out)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if _, err := fmt.Fscanln(ready, new(string)); err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", server.Address.String()+":80", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := io.ReadAll(conn); err != nil || string(who) != node.String() {
		t.Errorf("the node is %q: %v", who, err)
	}
	spec.Argv = []string{"perl", "-e", `use IO::Socket::INET; print IO::Socket::INET->new("` + server.Address.String() +
		`:80")->getline`}
	if who, _ := run(t, client, spec); who != client.Address.String() {
		t.Errorf("the pod is %q", who)
	}
}

// TestSysctl opens low ports to a user.
func TestSysctl(t *testing.T) {
	const script = `use IO::Socket::INET;
		IO::Socket::INET->new(LocalPort => 80, Listen => 5) or die "refused"; print "listens"`
	for want, sysctls := range map[string]map[string]string{
		"refused": nil, "listens": {"net.ipv4.ip_unprivileged_port_start": "0"},
	} {
		spec := shell(t, "")
		spec.Argv, spec.User = []string{"perl", "-e", script}, 7
		if out, _ := run(t, newNetwork(t, sysctls), spec); !strings.Contains(out, want) {
			t.Errorf("%q, want %q", out, want)
		}
	}
}
