// Command backend is a small HTTP server that answers with the request. It is a backend for trying out gateways:
//
//	backend -listen localhost:9001 -name web
//
// It answers every path with JSON, and every gRPC call with a message of the same JSON: its name, the method, path,
// query, host and headers of the request. /slow?seconds=N answers after N seconds; /stream sends an event per second
// until the client closes the connection (?seconds=N: for N seconds).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "localhost:9001", "address to listen on")
	name := flag.String("name", "backend", "name to answer with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, *name); err != nil {
		log.Fatalf("backend %s: %v", *name, err)
	}
}

// serve answers at the address until ctx is done, then finishes the answers in progress.
func serve(ctx context.Context, address, name string) error {
	listeners, err := listenAll(ctx, address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler(name),
		Protocols:         protocols(),
		ReadHeaderTimeout: 10 * time.Second,
		// Slow answers and streams end with ctx, so that Shutdown need not wait for them.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		timeout, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		done <- server.Shutdown(timeout)
	}()
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		fmt.Fprintf(os.Stderr, "backend %s listens on %s\n", name, l.Addr())
		go func() { served <- server.Serve(l) }()
	}
	if err := <-served; err != http.ErrServerClosed {
		return err
	}
	return <-done
}

// protocols are HTTP/1.1 and, for gRPC, HTTP/2 without TLS.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// listenAll listens at every address of the host: a client may use any address of localhost.
func listenAll(ctx context.Context, address string) ([]net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	var list []net.Listener
	for _, ip := range ips {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, port))
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			continue // the name has an address of a family that this machine does not use
		}
		if err != nil {
			return nil, err
		}
		list = append(list, l)
		if port == "0" {
			break // a second one would get another port
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no address on this machine", host)
	}
	return list, nil
}
