package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	hosts       = 100 // routes, each with a host of its own
	connections = 8   // on which requests follow each other without a pause
)

// serveBackend answers every request with some JSON, which is too short to be compressed, until stop is called.
func serveBackend() (port int, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	body := []byte(`{"items": [` + strings.Repeat(`{"id": 1, "name": "shoe"}, `, 10) + `{}]}`)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})}
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().(*net.TCPAddr).Port, func() { _ = server.Close() }, nil
}

func host(i int) string { return fmt.Sprintf("app-%d.example.com", i) }

// requests are those of a browser's script at another origin, one for each host.
func requests(token string) (list [][]byte) {
	for i := range hosts {
		list = append(list, []byte("GET /items?page=1 HTTP/1.1\r\nHost: "+host(i)+"\r\nOrigin: https://app.example\r\n"+
			"Accept: application/json\r\nAccept-Encoding: gzip\r\nUser-Agent: bench\r\nAuthorization: Bearer "+token+"\r\n\r\n"))
	}
	return list
}

// load sends n requests to a port, to all hosts in turn. Every answer has to be 200. It returns their times, sorted.
func load(port, n int, requests [][]byte) (took []time.Duration, err error) {
	var group errgroup.Group
	all := make([][]time.Duration, connections)
	for i := range connections {
		group.Go(func() (err error) {
			all[i], err = loadConnection(port, n/connections, requests)
			return err
		})
	}
	err = group.Wait()
	took = slices.Concat(all...)
	slices.Sort(took)
	return took, err
}

func loadConnection(port, n int, requests [][]byte) ([]time.Duration, error) {
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reader, took := bufio.NewReader(c), make([]time.Duration, n)
	for i := range n {
		began := time.Now()
		if _, err := c.Write(requests[i%len(requests)]); err != nil {
			return nil, err
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return nil, err
		}
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("port %d answered %s", port, response.Status)
		}
		took[i] = time.Since(began)
	}
	return took, nil
}
