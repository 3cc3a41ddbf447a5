package calls

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestSend: a line goes out and an echo comes back, over TCP and UDP; half of the connections are closed.
func TestSend(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	packets, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	go func() {
		for i := 0; ; i++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if i%2 == 0 {
				line, _ := bufio.NewReader(conn).ReadString('\n')
				_, _ = fmt.Fprintf(conn, "{\"name\": \"a\", \"got\": %q, \"sni\": \"b\"}\n", line)
			}
			_ = conn.Close()
		}
	}()
	go func() {
		datagram := make([]byte, 100)
		for {
			n, from, err := packets.ReadFromUDPAddrPort(datagram)
			if err != nil {
				return
			}
			_, _ = packets.WriteToUDPAddrPort(fmt.Appendf(nil, "{\"name\": \"u\", \"got\": %q}", datagram[:n]), from)
		}
	}()
	client := NewClient("127.0.0.1", 0)
	defer client.Close()
	for _, text := range []string{
		fmt.Sprintf("SEND tcp://any:%d *20 -> a~50%% closed~50%%", listener.Addr().(*net.TCPAddr).Port),
		fmt.Sprintf("SEND udp://any:%d -d text *3 -> u body=text", packets.LocalAddr().(*net.UDPAddr).Port),
	} {
		list, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Do(t.Context(), list[0]); err != nil {
			t.Error(err)
		}
		list[0].Shares = []Share{{"other", 100}}
		if err := client.Do(t.Context(), list[0]); err == nil {
			t.Errorf("%s: another one answered, and no error says so", text)
		}
	}
}
