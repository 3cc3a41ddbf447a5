package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// serve answers the API server, which asks for logs and ports, until ctx ends.
func (k *Kubelet) serve(ctx context.Context) (<-chan error, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.serveForward)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(k.Log.Handler(), slog.LevelDebug),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{k.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: k.ClientCAs,
		},
	}
	address := netip.AddrPortFrom(k.Address, uint16(k.Port)).String()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	k.running.Go(func() {
		err := server.ServeTLS(listener, "", "")
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		served <- err
	})
	context.AfterFunc(ctx, func() { _ = server.Close() }) // who still reads a log is cut off
	return served, nil
}

func (k *Kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	namespace, name, container := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	options, err := logOptions(r.URL.Query().Get)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	log, ended, err := k.log(namespace, name, container, options.Previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	var out io.Writer = w
	if options.Follow {
		out = flushing{w, http.NewResponseController(w)}
	}
	_ = log.copy(out, options, r.Context().Done(), ended) // the reader has gone
}

// log finds a container's log, and what is closed when nothing more comes.
func (k *Kubelet) log(namespace, name, container string, previous bool) (*log, <-chan struct{}, error) {
	w := k.find(namespace, name)
	if w == nil {
		return nil, nil, fmt.Errorf("pod %s/%s is not on this node", namespace, name)
	}
	closed := make(chan struct{})
	close(closed)
	for _, m := range w.members() {
		if m.spec.Name != container {
			continue
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case previous && m.previous != nil:
			return m.previous, closed, nil
		case previous:
			return nil, nil, fmt.Errorf("previous terminated container %q in pod %q not found", container, name)
		case m.log == nil:
			return nil, nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", container, name,
				m.status.State.Waiting.Reason)
		case m.process == nil:
			return m.log, closed, nil
		}
		return m.log, m.process.Done(), nil
	}
	return nil, nil, fmt.Errorf("container %q is not in pod %q", container, name)
}

// flushing sends each line as it comes.
type flushing struct {
	io.Writer
	controller *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err == nil {
		err = f.controller.Flush()
	}
	return n, err
}
