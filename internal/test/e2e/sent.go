package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"net"
	"testing"
)

// echoed is what a backend without HTTP answers, in the form that examples/calls reads.
type echoed struct {
	Name string `json:"name"`
	Got  string `json:"got"`
	SNI  string `json:"sni"` // of a TLS handshake
	ALPN string `json:"alpn"`
}

// encode is the answer in a line.
func (e echoed) encode() []byte {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // it has only text
	}
	return append(text, '\n')
}

// echoLines answers each line of a connection by what it got and saw; secure, if not nil, makes it speak TLS.
func echoLines(t testing.TB, name string, secure *tls.Config) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = listener.Addr().(*net.TCPAddr).Port
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go echoConnection(conn, name)
		}
	}()
	return port
}

func echoConnection(conn net.Conn, name string) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		e := echoed{Name: name, Got: lines.Text()}
		if secure, is := conn.(*tls.Conn); is {
			e.SNI, e.ALPN = secure.ConnectionState().ServerName, secure.ConnectionState().NegotiatedProtocol
		}
		if _, err := conn.Write(e.encode()); err != nil {
			return
		}
	}
}

// echoDatagrams answers each datagram by what it got.
func echoDatagrams(t testing.TB, name string) (port int) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		datagram := make([]byte, 64<<10)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(datagram)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(echoed{Name: name, Got: string(datagram[:n])}.encode(), from)
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).Port
}
