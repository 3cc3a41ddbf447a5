package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// Of a connection that forwards ports: how long it may be idle, and how long a client may take to open the streams of
// one port.
const (
	forwardIdle    = 4 * time.Hour
	forwardStreams = 30 * time.Second
)

// serveForward forwards connections to ports of a pod, as `kubectl port-forward` asks for.
func (k *Kubelet) serveForward(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("pod")
	p := k.find(namespace, name)
	if p == nil {
		http.Error(w, fmt.Sprintf("pod %s/%s is not on this node", namespace, name), http.StatusNotFound)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{p}, name, string(p.latest().UID), options, forwardIdle, forwardStreams,
		portforward.SupportedProtocols)
}

// forwarder reaches the ports of a pod.
type forwarder struct{ pod *pod }

// PortForward copies between a stream and a port that is open in the pod, on its loopback interface, until the pod's
// side ends or the pod does.
func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	f.pod.mu.Lock()
	network := f.pod.network
	f.pod.mu.Unlock()
	if network == nil {
		return fmt.Errorf("the pod has no network yet")
	}
	conn, err := network.Dial(f.pod.present, uint16(port))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(f.pod.present, func() { conn.Close() })()
	go func() {
		_, _ = io.Copy(conn, stream) // what can't be read or written ends the other direction, too
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
	}()
	_, err = io.Copy(stream, conn)
	return err
}
