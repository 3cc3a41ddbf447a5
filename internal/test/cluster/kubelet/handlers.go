package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cardea.dev/cardea/internal/test/cluster/container"
)

// handler is what a probe or a hook does: one of these.
type handler struct {
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	exec  *corev1.ExecAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

// handle runs a hook.
func (m *member) handle(ctx context.Context, process *container.Process, l *corev1.LifecycleHandler) error {
	return m.try(ctx, process, handler{l.HTTPGet, l.TCPSocket, l.Exec, nil, l.Sleep})
}

// try does what a handler says. nil is success.
func (m *member) try(ctx context.Context, process *container.Process, h handler) error {
	switch {
	case h.http != nil:
		return m.get(ctx, h.http)
	case h.tcp != nil:
		address, err := m.address(h.tcp.Host, h.tcp.Port)
		if err != nil {
			return err
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	case h.exec != nil:
		return m.exec(ctx, process, h.exec.Command)
	case h.sleep != nil:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-process.Done(): // nobody is left to wait for
				cancel()
			case <-ctx.Done():
			}
		}()
		pause(ctx, time.Duration(h.sleep.Seconds)*time.Second)
		return nil
	}
	return errors.New("probes and hooks of this kind are not simulated")
}

// get makes an HTTP request, as a kubelet does: to the pod, from the node, without a look at the certificate.
func (m *member) get(ctx context.Context, g *corev1.HTTPGetAction) error {
	address, err := m.address(g.Host, g.Port)
	if err != nil {
		return err
	}
	scheme := "http"
	if g.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/", nil)
	if err != nil {
		return err
	}
	if request.URL, err = request.URL.Parse(cmp.Or(g.Path, "/")); err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/1.36")
	for _, h := range g.HTTPHeaders {
		if http.CanonicalHeaderKey(h.Name) == "Host" {
			request.Host = h.Value
		} else {
			request.Header.Add(h.Name, h.Value)
		}
	}
	client := http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)); err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	return nil
}

// address is host and port; the pod's address if there is no host.
func (m *member) address(host string, port intstr.IntOrString) (string, error) {
	number := port.IntValue()
	if port.Type == intstr.String {
		for _, p := range m.spec.Ports {
			if p.Name == port.StrVal {
				number = int(p.ContainerPort)
			}
		}
	}
	if number <= 0 || number > 65535 {
		return "", fmt.Errorf("the container has no port %q", port.String())
	}
	return net.JoinHostPort(cmp.Or(host, m.pod.network.Address.String()), fmt.Sprint(number)), nil
}

// exec runs a command in the container. It gives up when ctx ends, and the command may go on.
func (m *member) exec(ctx context.Context, process *container.Process, argv []string) error {
	done := make(chan error, 1)
	go func() {
		exit, err := process.Exec(argv, io.Discard, io.Discard)
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("%q has ended with %d", argv, exit.Code)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
