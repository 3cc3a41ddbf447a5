package envoy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/deliver/xds"
)

// serveLive feeds a real Envoy over xDS with what the world is now and becomes. The graph then runs by itself.
func (w *world) serveLive(t *testing.T) *proxy {
	t.Helper()
	return startEnvoy(t, func(socket string) { w.feed(t, socket) })
}

// feed serves xDS at a socket until it is told to stop.
func (w *world) feed(t *testing.T, socket string) (stop func()) {
	t.Helper()
	server, err := xds.New(xds.Config{
		Graph: w.g, Resources: w.out.Resources, Feedback: w.feedback, Protocol: Protocol(),
		Identify: func(context.Context) (xds.GatewayResolver, error) {
			return func(xds.Node) (model.ObjectRef, error) { return testGateway, nil }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = w.g.Run(ctx) })
	done.Go(func() { _ = server.Run(ctx) })
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	rpc := grpc.NewServer(append(xds.GRPCOptions(0), grpc.WaitForHandlers(true))...)
	server.Register(rpc)
	done.Go(func() { _ = rpc.Serve(l) })
	stop = func() { rpc.Stop(); cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

// refusals are what proxies refused, by the section of its origin.
func (w *world) refusals() map[string]string {
	found := map[string]string{}
	w.g.View(func(v flow.View) {
		for k, r := range flow.All(v, w.feedback.Refused.Collection()) {
			found[k.Origin.Section] = r.Message
		}
	})
	return found
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for nothing: %s", what)
		}
	}
}

// bad is a setting that Envoy refuses.
func bad(slot, name, by string) plan.Setting { return mark(slot, name, "%NO_SUCH("+by+")%") }

// TestARefusedSettingConvictsItself: a bad setting of a Gateway or a listener is found among edits of all rules, and no
// rule is convicted with it. Requests that it would have held for get an error; all others are served.
func TestARefusedSettingConvictsItself(t *testing.T) {
	bind := freePort(t)
	w := levelsWorld(t, bind)
	w.serveLive(t)
	status := func(host string, want int) func() bool {
		return func() bool { return call{Host: host, URI: "/"}.do(t, bind).Status == want }
	}
	eventually(t, "all serve", status("one.own.test", 200))
	edit := func(gateway, listener []plan.Setting) {
		w.g.Apply("test", func(b *flow.Batch) {
			w.stated.gateways.Set(b, testGateway, gateway)
			w.stated.listeners.Set(b, testListener("own", "").Key, listener)
			for _, host := range []string{"gateway-test", "listener-own-test", "off-own-test", "one-own-test"} {
				w.setRule(b, forward(host, prefix("/"), prefix("/new")))
			}
		})
	}
	good, own := append(marks("a", "gateway"), marks("b", "gateway")...), marks("a", "listener")
	badGateway := httpfilters.Join(good, []plan.Setting{bad(httpfilters.Authz, "a", "gateway")})
	edit(badGateway, own)
	eventually(t, "the host that inherits it gets an error", status("gateway.test", 500))
	for section, message := range w.refusals() {
		if section != "authz/a" || !strings.Contains(message, "NO_SUCH") {
			t.Errorf("%s is refused: %s", section, message)
		}
	}
	for _, host := range []string{"listener.own.test", "route.own.test", "one.own.test", "off.own.test"} {
		if !status(host, 200)() {
			t.Errorf("%s does not inherit what is refused, and is not served", host)
		}
	}
	edit(good, httpfilters.Join(own, []plan.Setting{bad(httpfilters.Guard, "a", "listener")}))
	eventually(t, "the corrected setting serves", status("gateway.test", 200))
	eventually(t, "hosts of the listener get an error", status("listener.own.test", 500))
	if got := w.refusals(); len(got) != 1 || got["guard/a"] == "" {
		t.Errorf("refused: %v", got)
	}
	for _, host := range []string{"gateway.test", "route.own.test", "off.own.test"} {
		if !status(host, 200)() {
			t.Errorf("%s does not inherit what is refused, and is not served", host)
		}
	}
	edit(good, own)
	eventually(t, "the corrected setting serves", status("listener.own.test", 200))
	eventually(t, "nothing is refused any more", func() bool { return len(w.refusals()) == 0 })
}

// answering is a setting whose filter answers 418 to every request.
func answering(slot string) plan.Setting {
	s := httpfilters.NewSetting(slot, "a", &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{
		ErrorType:  &faultv3.FaultAbort_HttpStatus{HttpStatus: http.StatusTeapot},
		Percentage: &typev3.FractionalPercent{Numerator: 100},
	}})
	s.From = testGateway
	return s
}

// TestErrorsAreNotReplaced: hosts of other listeners (421), what a proxy refused and what can't be served (500) are
// answered as such, whichever slot answers everything for the Gateway and the listener.
func TestErrorsAreNotReplaced(t *testing.T) {
	plain, secure := freePort(t), freePort(t)
	w := newStatedWorld(t)
	w.apply(func(b *flow.Batch) {
		one, other := testListener("one", "one.test"), testListener("other", "other.test")
		cert := testSecret(t, "cert", "one.test")
		w.secrets.Set(b, cert.Ref, cert)
		one.Certificates, other.Certificates = []model.ObjectRef{cert.Ref}, []model.ObjectRef{cert.Ref}
		w.addPort(b, 443, secure, model.HTTPS, one, other)
		w.addPort(b, 80, plain, model.HTTP, testListener("a", "a.test"), testListener("b", "b.test"))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 443, "one", "one.test", forward("secure", prefix("/")))
		w.serve(b, 9, 80, "a", "a.test", forward("plain", prefix("/")))
		failing := forward("failing", prefix("/failing"))
		failing.Error = 500
		w.serve(b, 2, 80, "a", "a.test", failing)
		w.serve(b, 3, 80, "b", "b.test", forward("refused", prefix("/refused")))
	})
	content := w.fragmentOf(t, "80/0", testRuleKey("refused"))
	w.apply(func(b *flow.Batch) {
		w.feedback.Refused.Set(b, refusalKeyOf(testGateway, content), resource.Refusal{Message: "no"})
	})
	state := func(gateway, listener []plan.Setting) {
		w.g.Apply("test", func(b *flow.Batch) {
			w.stated.gateways.Set(b, testGateway, gateway)
			for _, section := range []string{"one", "a", "b"} {
				w.stated.listeners.Set(b, testListener(section, "").Key, listener)
			}
		})
	}
	first := answering(httpfilters.Errors)
	state([]plan.Setting{first}, nil)
	w.serveLive(t)
	misdirected := func() int { return statusOf(t, secure, "one.test", "other.test") }
	for _, slot := range chains() {
		if slot == httpfilters.Coding || slot == httpfilters.Observe {
			continue // what stands there does not answer
		}
		for level, settings := range map[string][2][]plan.Setting{
			"Gateway": {{answering(slot)}, nil}, "listener": {nil, {answering(slot)}},
		} {
			// Between two settings none is stated, so that the condition is not that of the last one.
			state(nil, nil)
			eventually(t, "nothing is stated", func() bool { return call{Host: "a.test", URI: "/"}.do(t, plain).Status == 200 })
			eventually(t, "nothing is stated", func() bool { return statusOf(t, secure, "one.test", "one.test") == 200 })
			state(settings[0], settings[1])
			eventually(t, slot+" answers", func() bool { return call{Host: "a.test", URI: "/"}.do(t, plain).Status == 418 })
			eventually(t, slot+" answers", func() bool { return statusOf(t, secure, "one.test", "one.test") == 418 })
			if got := misdirected(); got != 421 {
				t.Errorf("%s stated by the %s: a host of another listener gets %d, want 421", slot, level, got)
			}
			for _, c := range []call{{Host: "a.test", URI: "/failing"}, {Host: "b.test", URI: "/refused"}} {
				if got := c.do(t, plain).Status; got != 500 {
					t.Errorf("%s stated by the %s: %s%s gets %d, want 500", slot, level, c.Host, c.URI, got)
				}
			}
		}
	}
}

// statusOf is the answer to a request for a host, over a connection for another name.
func statusOf(t *testing.T, port int32, sni, host string) int {
	t.Helper()
	c := client(t, &tls.Config{InsecureSkipVerify: true, ServerName: sni})
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := c.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
