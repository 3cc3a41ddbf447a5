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

// dialPatience is how long an endpoint may take to accept a connection.
const dialPatience = 10 * time.Second

// tcpRule forwards connections. Those that are established live on when the backend is no endpoint any more, and when
// the rule closes; they end with either side, as with a kube-proxy.
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

func (r *tcpRule) close() { _ = r.listener.Close() } // what it could say is of no use

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

// forward joins a connection with one to a backend chosen by chance. There is one choice only: a backend that can't be
// reached is the client's trouble, as in a cluster.
func (r *tcpRule) forward(client *net.TCPConn) {
	backends := *r.backends.Load()
	if len(backends) == 0 {
		reset(client)
		return
	}
	to := backends[rand.IntN(len(backends))]
	dialed, err := net.DialTimeout("tcp", to.String(), dialPatience)
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

// pump copies one direction: an end is passed on as an end, trouble as a reset.
func pump(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	_ = to.CloseWrite() // the other side may have gone, which the other pump sees
}

// reset ends a connection in a way that its peer takes for trouble.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // it may be closed already
	_ = conn.Close()
}
