package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
)

// Offset is added to every listener's port, so that tests need no privilege.
const Offset = 20000

// WaitTimeout is how long a test waits for what must happen. It is a bound for broken programs, not a measure.
const WaitTimeout = 60 * time.Second

// Program is a running `cardea standalone`.
type Program struct {
	Dir     string // the folder it serves
	Address string // where its Gateways bind: a loopback address of the test's own
	Admin   string // URL of the admin API

	stop context.CancelFunc
	done chan error
}

// DataPlanes are all, the one that $CARDEA_DATAPLANE names first: Gateways that name none have that.
func DataPlanes(t testing.TB) []dataplane.Dialect {
	t.Helper()
	list, name := dataplanes.All(), os.Getenv("CARDEA_DATAPLANE")
	if name == "" {
		return list
	}
	i := slices.IndexFunc(list, func(d dataplane.Dialect) bool { return d.Name.Name == name })
	if i < 0 {
		t.Fatalf("CARDEA_DATAPLANE=%s: there is no such data plane", name)
	}
	return slices.Concat(list[i:i+1], list[:i], list[i+1:])
}

var addresses atomic.Uint32

// address is a loopback address that no other test of this process uses. The process id keeps test binaries apart.
func Address() string {
	const each = 4000 // addresses of a process; 3,900 processes have others
	n := os.Getpid()%3900*each + int(addresses.Add(1))%each
	return fmt.Sprintf("127.%d.%d.%d", 1+n/250/250, 1+n/250%250, 1+n%250)
}

// Extensions are the kinds of policies with all features that Cardea has by itself.
var Extensions = sync.OnceValue(func() []world.Extension {
	list, err := world.ExtensionsOf(builtin.Plugins())
	if err != nil {
		panic(err) // a mistake of a feature's declaration
	}
	return list
})

// Start serves dir until the test ends.
func Start(t testing.TB, dir string, change ...func(*standalone.Options)) *Program {
	t.Helper()
	p := &Program{Dir: dir, Address: Address(), done: make(chan error, 1)}
	listening := make(chan string, 1)
	o := standalone.Options{
		Budgets: model.DefaultBudgets, Dialects: DataPlanes(t), Extensions: Extensions(),
		ConfigMapSync: 100 * time.Millisecond,
		Dir:           dir, PortOffset: Offset, Bind: []string{p.Address}, Admin: "127.0.0.1:0", CacheDir: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(&logTo{t}, nil)), OnAdmin: func(addr string) { listening <- addr },
	}
	for _, f := range change {
		f(&o)
	}
	p.Address = o.Bind[0]
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() { p.done <- standalone.Run(ctx, o) }()
	t.Cleanup(func() { p.Stop(t) })
	select {
	case addr := <-listening:
		p.Admin = "http://" + addr
	case err := <-p.done:
		close(p.done)
		t.Fatalf("start: %v", err)
	case <-time.After(WaitTimeout):
		t.Fatal("start: the admin API does not listen")
	}
	return p
}

// Stop ends the program and waits until it has.
func (p *Program) Stop(t testing.TB) {
	t.Helper()
	p.stop()
	select {
	case err, running := <-p.done:
		if err != nil {
			t.Errorf("stop: %v", err)
		}
		if running {
			close(p.done)
		}
	case <-time.After(2 * WaitTimeout):
		stacks := make([]byte, 1<<20)
		t.Errorf("the program does not end:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
}

// Ready waits until the first whole configuration is acknowledged.
func (p *Program) Ready(t testing.TB) {
	t.Helper()
	Eventually(t, func() error {
		_, err := p.Get("/readyz")
		return err
	})
}

// Object reads an object with its status, such as "httproute/shop/web", into object.
func (p *Program) Object(path string, object any) error {
	return p.Read("/objects/"+path, object)
}

func (p *Program) Read(path string, value any) error {
	body, err := p.Get(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, value)
}

func (p *Program) Get(path string) ([]byte, error) {
	response, err := http.Get(p.Admin + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, response.Status, body)
	}
	return body, err
}

// Write replaces a file of the folder at once, as a careful editor does.
func (p *Program) Write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	draft := filepath.Join(p.Dir, "."+filepath.Base(name)+".draft")
	if err := os.WriteFile(draft, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(draft, path); err != nil {
		t.Fatal(err)
	}
}

// Eventually asks until the answer is nil. It fails the test with the last answer.
func Eventually(t testing.TB, ask func() error) {
	t.Helper()
	var last error
	for end := time.Now().Add(WaitTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if last = ask(); last == nil {
			return
		}
	}
	t.Fatalf("it did not happen: %v", last)
}

// logTo shows the program's log with the test.
type logTo struct{ t testing.TB }

func (l *logTo) Write(b []byte) (int, error) {
	l.t.Logf("%s", b)
	return len(b), nil
}

// speaking is a client of one protocol that calls one port, whatever host its URLs name.
func (p *Program) Speaking(t *testing.T, port int, speak func(*http.Protocols)) *http.Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(p.Address, strconv.Itoa(port+Offset)))
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}},
		Protocols:       new(http.Protocols),
	}
	speak(transport.Protocols)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: WaitTimeout}
}
