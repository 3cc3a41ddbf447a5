package store

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// link is a way to a server that can be cut.
type link struct {
	net.Listener
	server string
	mu     sync.Mutex
	open   []net.Conn
	// cut, if set, sees what a client sends, and tells whether the link is cut after it was passed on, before an answer.
	cut atomic.Pointer[func(sent []byte) bool]
	// refuse has new connections closed.
	refuse atomic.Bool
}

// newLink makes a link to the server of a URL, and the URL through it.
func newLink(t *testing.T, address string) (*link, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{server: u.Host}
	if l.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		l.breakAll()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			if l.refuse.Load() {
				_ = client.Close()
				continue
			}
			l.join(client)
		}
	}()
	u.Host = l.Addr().String()
	return l, u.String()
}

func (l *link) join(client net.Conn) {
	server, err := net.Dial("tcp", l.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.open = append(l.open, client, server)
	l.mu.Unlock()
	var silent atomic.Bool // nothing goes back any more
	go pass(client, server, func(sent []byte) bool {
		if cut := l.cut.Load(); cut != nil && (*cut)(sent) {
			silent.Store(true)
		}
		return true
	}, func() { _ = server.Close() })
	go pass(server, client, func([]byte) bool { return !silent.Load() }, func() { _ = client.Close() })
}

func pass(from, to net.Conn, goOn func([]byte) bool, end func()) {
	defer end()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil || !goOn(b[:n]) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (l *link) breakAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// cutCommit cuts the next COMMIT: the server gets it, and its answer is lost.
func (l *link) cutCommit() *atomic.Int64 {
	var times atomic.Int64
	cut := func(sent []byte) bool {
		return isCommit(sent) && times.CompareAndSwap(0, 1)
	}
	l.cut.Store(&cut)
	return &times
}

func isCommit(sent []byte) bool {
	for i := 0; i+6 <= len(sent); i++ {
		if word := string(sent[i : i+6]); word == "commit" || word == "COMMIT" {
			return true
		}
	}
	return false
}
