package calls

import (
	"net"
	"net/http"
	"testing"
)

// TestClosed: a connection that the other side closes as soon as it is opened is a closed one, however far the request
// got by then.
func TestClosed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	client := &http.Client{Transport: &http.Transport{}}
	for range 2000 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := send(client, request, ""); err != nil {
			t.Fatal(err)
		}
	}
}
