package main

import (
	"net"
	"net/http"
)

// backend is the server that all routes lead to. It runs in this program.
type backend struct {
	host   string
	port   int32
	server *http.Server
}

func newBackend(host string) (*backend, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	b := &backend{host: host, port: int32(listener.Addr().(*net.TCPAddr).Port), server: &http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}}
	go func() { _ = b.server.Serve(listener) }()
	return b, nil
}

func (b *backend) close() { _ = b.server.Close() }
