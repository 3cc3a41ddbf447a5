package live

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"
)

func TestATakenPort(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", gatewayFile(80, 81))
	at := e2e.Address()
	port := s.hold(at, 81)
	s.start(bindAt(at))
	s.says("gateway/shop/web",
		"http-80: Accepted=True", "http-80: Programmed=True",
		"http-81: Accepted=False PortUnavailable", "http-81: Programmed=False", "http-81: attachedRoutes=1",
		"Accepted=True ListenersNotValid", "Programmed=True")
	lines, _, err := s.conditions("gateway/shop/web")
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "Address already in use") {
		t.Errorf("the status does not hold the proxy's words:\n%s", all)
	}
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue")
	// Edits go on meanwhile.
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.soon("GET http://shop.example/ -> 200 green")
	s.says("gateway/shop/web", "http-81: Accepted=False PortUnavailable")
	const served = "web: cardea.dev/Programmed=True Programmed: acknowledged by the proxies"
	s.says("httproute/shop/web", served+"; not served at listeners that the proxy rejected, see the Gateway: http-81")

	// The port becomes free: served without an edit.
	port.Close()
	s.soon("GET http://shop.example:81/ -> 200 green")
	s.says("gateway/shop/web", "http-81: Accepted=True", "http-81: Programmed=True", "Accepted=True Accepted",
		"Programmed=True")
	e2e.Eventually(t, func() error {
		lines, _, err := s.conditions("httproute/shop/web")
		if err == nil && !slices.Contains(lines, served) {
			err = fmt.Errorf("%q does not have %q", lines, served)
		}
		return err
	})
	s.expect("GET http://shop.example/ -> 200 green")
	if once, again := s.book.find("rejected by proxy", "cannot bind"),
		s.book.find("process output", "cannot bind"); len(once) != 1 || len(again) > 0 {
		t.Errorf("the log tells of the port %d times, and %d times in the proxy's words", len(once), len(again))
	}
}

// TestOneAddressOfTwoIsTaken has a Gateway of two addresses. The proxy names the one that it can't bind.
func TestOneAddressOfTwoIsTaken(t *testing.T) {
	t.Parallel()
	first, second := e2e.Address(), e2e.Address()
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", gatewayFile(80)+"  addresses: [{value: "+first+"}, {value: "+second+"}]\n")
	taken := s.hold(second, 80)
	s.start(bindAt(first))
	s.says("gateway/shop/web", "http-80: Accepted=False PortUnavailable")
	taken.Close()
	s.soon("GET http://shop.example/ -> 200 blue")
	s.says("gateway/shop/web", "http-80: Accepted=True", "http-80: Programmed=True")
}

// TestAnAddressIsAdded edits a live Gateway: what it binds already goes on serving, whether the new address can be
// bound or not.
func TestAnAddressIsAdded(t *testing.T) {
	t.Parallel()
	first, second := e2e.Address(), e2e.Address()
	both := gatewayFile(80) + "  addresses: [{value: " + first + "}, {value: " + second + "}]\n"
	s := prepare(t, t.TempDir(), shop())
	s.start(bindAt(first))
	s.soon("GET http://shop.example/ -> 200 blue")
	taken := s.hold(second, 80)
	s.write("gateway.yaml", both)
	s.says("gateway/shop/web", "http-80: Accepted=False PortUnavailable")
	s.expect("GET http://shop.example/ -> 200 blue")
	taken.Close()
	s.says("gateway/shop/web", "http-80: Accepted=True", "http-80: Programmed=True")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.Address = second
	s.meet()
	s.soon("GET http://shop.example/ -> 200 blue")
}

func TestTwoGatewaysOnOnePort(t *testing.T) {
	t.Parallel()
	second := strings.ReplaceAll(gatewayFile(80), "name: web", "name: two")
	both := strings.Replace(routeFile("web", "shop.example", to("blue")), "[{name: web}]", "[{name: web}, {name: two}]", 1)
	s := prepare(t, t.TempDir(), shop())
	s.write("second.yaml", second)
	s.write("route.yaml", both)
	s.start()
	// One of them gets the port, the other is told: the connections are not shared silently.
	var loser string
	e2e.Eventually(t, func() error {
		const won, lost = "http-80: Programmed=True", "http-80: Accepted=False PortUnavailable"
		switch {
		case s.saysNow("gateway/shop/web", won) == nil && s.saysNow("gateway/shop/two", lost) == nil:
			loser = "two"
		case s.saysNow("gateway/shop/two", won) == nil && s.saysNow("gateway/shop/web", lost) == nil:
			loser = "web"
		default:
			return errors.Join(s.saysNow("gateway/shop/web", won), s.saysNow("gateway/shop/two", lost))
		}
		return nil
	})
	s.says("gateway/shop/"+loser, "Accepted=False ListenersNotValid", "Programmed=False")
	if got, want := e2e.FindingsOf(t, s.Dir),
		"Gateway shop/"+loser+": spec.listeners[0].port: "; !strings.Contains(got, want) {
		t.Errorf("check does not foretell it by %q but says %s", want, got)
	}
	s.expect("GET http://shop.example/ *20 -> 200 blue")
	// The winner goes, the other one takes over.
	s.remove(map[string]string{"two": "gateway.yaml", "web": "second.yaml"}[loser])
	s.says("gateway/shop/"+loser, "http-80: Programmed=True", "Accepted=True Accepted")
	s.expect("GET http://shop.example/ -> 200 blue")
}

// TestProgrammedMeansOpen connects to a port at the moment when its listener becomes Programmed. A proxy acknowledges a
// listener at once, but opens its port when the route table that it names has come, which takes its time if that is
// large.
func TestProgrammedMeansOpen(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	var routes strings.Builder
	for i := range 200 {
		hosts := make([]string, 16) // the most that a route may have
		for j := range hosts {
			hosts[j] = fmt.Sprintf("host-%d-%d.example", i, j)
		}
		route := routeFile(fmt.Sprintf("many-%d", i), "HOSTS", to("blue"))
		routes.WriteString("---\n" + strings.Replace(route, `"HOSTS"`, strings.Join(hosts, ", "), 1))
	}
	s.write("many.yaml", routes.String())
	s.start()
	opens := func(port int) {
		t.Helper()
		want := fmt.Sprintf("http-%d: Programmed=True", port)
		for end := time.Now().Add(e2e.WaitTimeout); s.saysNow("gateway/shop/web", want) != nil; {
			if time.Now().After(end) {
				t.Fatalf("it did not happen: %v", s.saysNow("gateway/shop/web", want))
			}
		}
		conn, err := net.Dial("tcp", net.JoinHostPort(s.Address, strconv.Itoa(port+e2e.Offset)))
		if err != nil {
			t.Fatalf("%s, and nobody is there: %v", want, err)
		}
		conn.Close()
	}
	opens(80)
	ports := []int{80}
	for port := 81; port < 86; port++ {
		ports = append(ports, port)
		s.write("gateway.yaml", gatewayFile(ports...))
		opens(port)
	}
	s.expect("GET http://host-199-15.example:85/ -> 200 blue")
}

// TestAListenerComesAndGoes edits the Gateway itself.
func TestAListenerComesAndGoes(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	generation := s.generation("gateway/shop/web")
	s.write("gateway.yaml", gatewayFile(80, 81))
	s.soon("GET http://shop.example:81/ -> 200 blue")
	s.says("gateway/shop/web", "http-81: attachedRoutes=1", "http-81: Programmed=True", "Programmed=True")
	s.write("gateway.yaml", gatewayFile(81))
	e2e.Eventually(t, func() error {
		if s.try("GET http://shop.example/ -> 200 blue") == nil {
			return fmt.Errorf("port 80 still answers")
		}
		return nil
	})
	s.expect("GET http://shop.example:81/ -> 200 blue")
	if now := s.generation("gateway/shop/web"); now != generation+2 {
		t.Errorf("after two edits the generation is %d, was %d", now, generation)
	}
	// The Gateway goes: its proxy ends.
	s.remove("gateway.yaml")
	child := s.reads("process started")
	e2e.Eventually(t, func() error { return gone(child.PID) })
	s.write("gateway.yaml", gatewayFile(80))
	s.soon("GET http://shop.example/ -> 200 blue")
}
