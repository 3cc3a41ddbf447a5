package services

import (
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// dialTimeout is how long an endpoint may take to accept a connection.
const dialTimeout = 10 * time.Second

// tcpRule forwards connections. An established connection stays when its backend is no endpoint any more, and when the
// rule is closed; it ends when either side closes it, as with a kube-proxy.
type tcpRule struct {
	listener *net.TCPListener
	backends atomic.Pointer[[]netip.AddrPort]
}

func newTCPRule(listener *net.TCPListener) *tcpRule {
	r := &tcpRule{listener: listener}
	r.set(nil)
	go r.accept()
	return r
}

func (r *tcpRule) set(backends []netip.AddrPort) { r.backends.Store(&backends) }

func (r *tcpRule) close() { _ = r.listener.Close() } // an error has no consequence

func (r *tcpRule) accept() {
	for {
		client, err := r.listener.AcceptTCP()
		if err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				continue
			}
			return
		}
		go r.forward(client)
	}
}

// forward connects a connection to a random backend. There is no second try: if the backend can't be reached, the
// client sees that, as in a cluster.
func (r *tcpRule) forward(client *net.TCPConn) {
	backends := *r.backends.Load()
	if len(backends) == 0 {
		reset(client)
		return
	}
	to := backends[rand.IntN(len(backends))]
	dialed, err := net.DialTimeout("tcp", to.String(), dialTimeout)
	if err != nil {
		reset(client)
		return
	}
	backend := dialed.(*net.TCPConn)
	var both sync.WaitGroup
	both.Go(func() { pump(backend, client) })
	both.Go(func() { pump(client, backend) })
	both.Wait()
	_ = client.Close()
	_ = backend.Close()
}

// pump copies one direction: an end is forwarded as an end, an error as a reset.
func pump(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	_ = to.CloseWrite() // the other side may have closed already, which the other pump notices
}

// reset ends a connection with an error for its peer.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // it may be closed already
	_ = conn.Close()
}
