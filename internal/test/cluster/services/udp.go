package services

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// idle is how long a client keeps its backend without a packet.
const idle = 60 * time.Second

// udpRule forwards packets. All packets from one address and port go to one backend, until it is no endpoint any more,
// or until no packet has come for some time.
type udpRule struct {
	conn *net.UDPConn

	mu       sync.Mutex
	backends []netip.AddrPort
	sessions map[netip.AddrPort]*session
}

// session is the exchange of a client and its backend.
type session struct {
	backend netip.AddrPort
	conn    *net.UDPConn // to the backend
}

func newUDPRule(conn *net.UDPConn) *udpRule {
	r := &udpRule{conn: conn, sessions: map[netip.AddrPort]*session{}}
	go r.receive()
	return r
}

func (r *udpRule) set(backends []netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backends = backends
	for client, s := range r.sessions {
		if !slices.Contains(backends, s.backend) {
			r.drop(client, s)
		}
	}
}

func (r *udpRule) close() {
	_ = r.conn.Close() // an error has no consequence
	r.set(nil)
}

// drop ends a session. mu is held.
func (r *udpRule) drop(client netip.AddrPort, s *session) {
	_ = s.conn.Close()
	if r.sessions[client] == s {
		delete(r.sessions, client)
	}
}

func (r *udpRule) receive() {
	packet := make([]byte, 64<<10)
	for {
		n, client, err := r.conn.ReadFromUDPAddrPort(packet)
		if err != nil {
			return
		}
		if s := r.session(client); s != nil {
			_ = s.conn.SetReadDeadline(time.Now().Add(idle))
			_, _ = s.conn.Write(packet[:n]) // a packet may be lost
		}
	}
}

// session is the session of a client, a new one if needed, or nil if there is no backend.
func (r *udpRule) session(client netip.AddrPort) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[client]; s != nil || len(r.backends) == 0 {
		return s
	}
	backend := r.backends[rand.IntN(len(r.backends))]
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(backend))
	if err != nil {
		return nil
	}
	s := &session{backend, conn}
	r.sessions[client] = s
	go r.answer(client, s)
	return s
}

// answer forwards the backend's packets to the client until the session ends.
func (r *udpRule) answer(client netip.AddrPort, s *session) {
	packet := make([]byte, 64<<10)
	for {
		n, err := s.conn.Read(packet)
		if err != nil {
			if errors.Is(err, syscall.ECONNREFUSED) {
				continue // a packet was refused; the next one may not be
			}
			break
		}
		_ = s.conn.SetReadDeadline(time.Now().Add(idle))
		_, _ = r.conn.WriteToUDPAddrPort(packet[:n], client) // a packet may be lost
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(client, s)
}
