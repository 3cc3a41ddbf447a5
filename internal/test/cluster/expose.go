package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/test/cluster/sandbox"
)

// Expose makes the API server reachable from outside the sandbox, at a loopback address there, until ctx ends or the
// cluster stops. It returns a kubeconfig for use outside.
func (c *Cluster) Expose(ctx context.Context) ([]byte, error) {
	listener, err := sandbox.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.later(func() { listener.Close() })
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(conn, strings.TrimPrefix(c.Config.Host, "https://"))
		}
	}()
	outside := rest.CopyConfig(c.Config)
	outside.Host = fmt.Sprintf("https://%v", listener.Addr())
	return kubeconfig(outside)
}

// relay joins a connection with one to address.
func relay(conn net.Conn, address string) {
	defer conn.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return // the API server does not run: the client's connection is closed
	}
	defer to.Close()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{conn, to}, {to, conn}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // either side may close its connection
			_ = pair[0].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}
