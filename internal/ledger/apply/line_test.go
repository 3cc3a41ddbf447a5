package apply

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/kubetest"
)

// line is a TCP proxy to the API server, which can be cut, or held up.
type line struct {
	net.Listener
	to    string
	mu    sync.Mutex
	down  bool
	slow  chan struct{} // if not nil, what clients send waits until it is closed
	conns []net.Conn
}

func newLine(t testing.TB, config *rest.Config) (*line, *rest.Config) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{Listener: listener, to: strings.TrimPrefix(config.Host, "https://")}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		l.cut()
		running.Wait()
	})
	config = rest.CopyConfig(config)
	config.Host = "https://" + listener.Addr().String()
	config.TLSClientConfig.ServerName = kubetest.NodeAddress.String()
	return l, kubeclient.NoRetryConfig(config)
}

func (l *line) serve(c net.Conn) {
	defer c.Close()
	l.mu.Lock()
	down := l.down
	l.mu.Unlock()
	if down {
		return
	}
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	l.conns = append(l.conns, c, server)
	l.mu.Unlock()
	go func() {
		_, _ = io.Copy(c, server)
		_ = c.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.Read(buffer)
		l.mu.Lock()
		slow := l.slow
		l.mu.Unlock()
		if slow != nil {
			<-slow
		}
		if n > 0 {
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut ends all connections, and lets no new one through.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// holdUp has everything that is sent wait until release is called.
func (l *line) holdUp() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slow := make(chan struct{})
	l.slow = slow
	return sync.OnceFunc(func() {
		l.mu.Lock()
		l.slow = nil
		l.mu.Unlock()
		close(slow)
	})
}

// TestCutOffFromTheCluster: what is committed meanwhile is applied, and what was changed is corrected, soon after the
// API server can be reached again. Meanwhile the ledger is not asked for more work.
func TestCutOffFromTheCluster(t *testing.T) {
	s := newStage(t)
	l, config := newLine(t, s.cluster.Config)
	s.run(func(c *Config) { c.REST = config })
	const some = 20
	for i := range some {
		s.put(s.numbered(i))
	}
	for i := range some {
		s.synced(s.edit(s.numbered(i)).Key)
	}
	l.cut()
	for i := range some {
		s.put(strings.ReplaceAll(s.numbered(i), "red", "blue"))
	}
	s.said("the API server does not answer")
	s.put(routeText)
	gone := s.edit(s.numbered(0)).Key
	s.must(s.place(gone).Delete(t.Context(), gone.Name, deleteNow))
	failures := s.counted("cardea_ledger_failures_total", "")
	l.mend()
	began := time.Now()
	for i := range some {
		s.synced(s.edit(s.numbered(i)).Key)
	}
	s.synced(s.edit(routeText).Key)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if failures > 20 {
		t.Errorf("%v failures", failures)
	}
	if s.live(gone) == nil {
		t.Error("what was deleted meanwhile is not there")
	}
}

// wire is the way to the ledger, which can be cut: then calls fail; or answers are lost.
type wire struct {
	ledger.Work
	cut, deaf atomic.Bool
}

var errCut = errors.New("there is no way to the ledger")

func (w *wire) Claim(ctx context.Context, q ledger.ClaimQuery) ([]ledger.Claim, error) {
	if w.cut.Load() {
		return nil, errCut
	}
	return w.Work.Claim(ctx, q)
}

func (w *wire) Record(ctx context.Context, r ledger.Result) (bool, error) {
	if w.cut.Load() {
		return false, errCut
	}
	ok, err := w.Work.Record(ctx, r)
	if w.deaf.Load() {
		return false, errCut
	}
	return ok, err
}

func (w *wire) Status(ctx context.Context, q ledger.StatusQuery) ([]ledger.Status, error) {
	if w.cut.Load() {
		return nil, errCut
	}
	return w.Work.Status(ctx, q)
}

func (w *wire) Observe(ctx context.Context, cluster string, list []ledger.Observation) error {
	if w.cut.Load() {
		return errCut
	}
	return w.Work.Observe(ctx, cluster, list)
}

// TestCutOffFromTheLedger: the cluster stays as it is, and afterwards the worker goes on where it was. An answer that
// was lost has nothing written twice.
func TestCutOffFromTheLedger(t *testing.T) {
	s := newStage(t)
	w := &wire{Work: s.Store}
	w.cut.Store(true)
	s.run(hasty, func(c *Config) { c.Work = w })
	s.put(configText)
	s.said("no work can be claimed")
	k := s.edit(configText).Key
	if s.live(k) != nil {
		t.Fatal("it was applied")
	}
	w.cut.Store(false)
	s.synced(k)

	w.deaf.Store(true)
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	o := s.isThere(k, func(o *unstructured.Unstructured) bool { return generationOf(o) == 2 })
	s.said("the ledger does not answer", errCut.Error())
	w.cut.Store(true)
	w.deaf.Store(false)
	s.merge(k, "somebody", `{"data":{"size":"tiny"}}`)
	w.cut.Store(false)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "size") == "large" })
	s.synced(k)
	if now := s.live(k); now.GetUID() != o.GetUID() || generationOf(now) != 2 {
		t.Errorf("the object is %v", now.Object)
	}
}

// TestClocksDoNotMatter: a worker whose clock is an hour ahead, or behind, takes nobody's lease: only the ledger's
// clock counts.
func TestClocksDoNotMatter(t *testing.T) {
	for name, off := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			l, config := newLine(t, s.cluster.Config)
			wrong := func(c *Config) { c.Now = func() time.Time { return time.Now().Add(off) } }
			s.put(configText)
			k := s.edit(configText).Key
			release := l.holdUp()
			s.run(func(c *Config) { c.REST = config })
			s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return in.Attempts == 1 })
			s.run(wrong, func(c *Config) { c.Worker, c.Poll = "wrong", 20*time.Millisecond })
			// The other one is at work by now, and leaves this to the one that has the lease.
			s.put(routeText)
			s.synced(s.edit(routeText).Key)
			if s.live(k) != nil {
				t.Error("a lease was not respected")
			}
			release()
			s.synced(k)
			s.merge(k, "somebody", `{"data":{"color":"green"}}`)
			s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "red" })
		})
	}
}
