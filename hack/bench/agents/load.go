package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/test/testcert"
)

// connections is on how many calls follow each other without a pause. Each is of another caller, if there are as many.
const connections = 8

// answer is what the tool says.
const answer = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}}`

// serveTools answers every request as if a tool had been called, until stop is called.
func serveTools() (port int, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})}
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().(*net.TCPAddr).Port, func() { _ = server.Close() }, nil
}

// call is a request of an agent.
func call() []byte {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool +
		`","arguments":{"a":1,"b":2}}}`
	return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMcp-Session-Id: 1\r\nMcp-Protocol-Version: 2025-06-18\r\n"+
		"User-Agent: bench\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
}

// certificates are what connections show: those of callers of the set, as far apart as can be.
func (s set) certificates(authority testcert.Pair) (list []*tls.Config) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)
	for i := range connections {
		id, err := url.Parse(callerID(i * max(s.callers, 1) / connections))
		if err != nil {
			panic(err) // it is in this program
		}
		pair := testcert.New(x509.Certificate{
			URIs: []*url.URL{id}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, &authority)
		list = append(list, &tls.Config{
			RootCAs: roots, ServerName: host, Certificates: []tls.Certificate{pair.TLSCertificate()},
			ClientSessionCache: tls.NewLRUClientSessionCache(1),
		})
	}
	return list
}

// load makes n calls at a port. It returns their times, sorted.
func load(port, n int, as []*tls.Config) (took []time.Duration, err error) {
	var group errgroup.Group
	all := make([][]time.Duration, len(as))
	for i := range as {
		group.Go(func() (err error) {
			all[i], err = loadConnection(port, n/len(as), as[i])
			return err
		})
	}
	err = group.Wait()
	took = slices.Concat(all...)
	slices.Sort(took)
	return took, err
}

func loadConnection(port, n int, as *tls.Config) ([]time.Duration, error) {
	c, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), as)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	request := call()
	reader, took := bufio.NewReader(c), make([]time.Duration, n)
	for i := range n {
		began := time.Now()
		if _, err := c.Write(request); err != nil {
			return nil, err
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		if response.StatusCode != http.StatusOK || !bytes.Equal(body, []byte(answer)) {
			return nil, fmt.Errorf("port %d answered %s: %s", port, response.Status, body)
		}
		took[i] = time.Since(began)
	}
	return took, nil
}
