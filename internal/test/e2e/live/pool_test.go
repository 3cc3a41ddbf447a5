package live

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// poolFile is an InferencePool of all backends that are named, and the rule that leads to it: paths below /NAME. Its
// picker is the Service of that name; "" is none.
func (s *poolStage) pool(name, picker, failure, body string) (pool, rule string) {
	ref := ""
	if picker != "" {
		ref = fmt.Sprintf("\n  endpointPickerRef: {name: %s, port: {number: 9002}, failureMode: %s}", picker, failure)
	}
	var ports []string
	for _, b := range s.members {
		ports = append(ports, fmt.Sprintf("{number: ${%s}}", b))
	}
	pool = fmt.Sprintf(`apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: %[1]s, namespace: shop, annotations: {inference.cardea.dev/picker-body: %[2]s}}
spec:
  selector: {matchLabels: {app: models}}
  targetPorts: [%[3]s]%[4]s
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pool-%[1]s, namespace: shop, labels: {cardea.dev/inferencepool: %[1]s}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: []
---
`, name, body, strings.Join(ports, ", "), ref)
	return pool, fmt.Sprintf("{matches: [{path: {value: /%[1]s}}], backendRefs: [{group: inference.networking.k8s.io, "+
		"kind: InferencePool, name: %[1]s, port: 1}]}", name)
}

// pickerFile is the Service of a picker at a port of this machine; 0: it has no endpoints.
func pickerFile(name string, port int) string {
	text := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\n"+
		"spec: {ports: [{port: 9002, appProtocol: http2}]}\n---\n", name)
	if port != 0 {
		text += fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %[1]s, namespace: shop, "+
			"labels: {kubernetes.io/service-name: %[1]s}}\naddressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]\n"+
			"ports: [{port: %[2]d}]\n---\n", name, port)
	}
	return text
}

// poolStage is pools before a Picker.
type poolStage struct {
	*stage
	picker  *e2e.Picker
	members []string
}

// openPools serves pools for each failure mode ("open", "close") and way of bodies ("duplex", "partial"), at
// /FAILURE-BODY, and for each trouble of the picker's Service: "missing", "none" (no endpoints) and "refused", at
// /FAILURE-TROUBLE.
func openPools(t *testing.T) *poolStage {
	s := pools(t)
	s.start()
	s.Ready(t)
	return s
}

// pools are those of openPools, before the program runs.
func pools(t *testing.T) *poolStage {
	s := &poolStage{stage: prepare(t, t.TempDir(), ""), picker: e2e.StartPicker(t), members: []string{"blue", "green"}}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().(*net.TCPAddr).Port
	closed.Close()
	objects := pickerFile("picker", s.picker.Port) + pickerFile("none", 0) + pickerFile("refused", nobody)
	var rules []string
	for _, failure := range []string{"open", "close"} {
		mode := map[string]string{"open": "FailOpen", "close": "FailClose"}[failure]
		for name, of := range map[string][2]string{
			"duplex": {"picker", "FullDuplex"}, "partial": {"picker", "BufferedPartial"}, "missing": {"gone", "FullDuplex"},
			"none": {"none", "FullDuplex"}, "refused": {"refused", "FullDuplex"},
		} {
			pool, rule := s.pool(failure+"-"+name, of[0], mode, of[1])
			objects, rules = objects+pool, append(rules, rule)
		}
	}
	pool, rule := s.pool("unpicked", "", "", "FullDuplex")
	objects, rules = objects+pool, append(rules, rule)
	s.write("objects.yaml", objects)
	s.write("gateway.yaml", gatewayFile(80))
	s.write("route.yaml", routeFile("models", "models.example", rules...))
	s.write("policy.yaml", `apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: idle, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: models}]
  timeouts: {streamIdle: 2s}
`)
	return s
}

// poolCall is a request to a pool.
type poolCall struct {
	Path   string
	Body   int // bytes; 0: a GET
	Header map[string]string
}

// ask makes a call.
func (s *poolStage) ask(c poolCall) (answer *http.Response, err error) {
	s.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if c.Body > 0 {
		method, body = http.MethodPost, bytes.NewReader(bytes.Repeat([]byte("a"), c.Body))
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method,
		"http://"+net.JoinHostPort(s.Address, strconv.Itoa(80+e2e.Offset))+c.Path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host = "models.example"
	for name, value := range c.Header {
		r.Header.Set(name, value)
	}
	answer, err = http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer, err
}

func (s *poolStage) member(name string) string { return fmt.Sprintf("127.0.0.1:%d", s.ports[name]) }

// poolFailures are what may be wrong with a picker, and what a client gets: where nobody is lost without the picker
// (FailOpen) and where it has to answer, with pickers that get bodies as they come and those that get the first part.
var poolFailures = []struct {
	what        string
	header      map[string]string
	open, close int
	// Of a request whose body was handed over, Envoy has nothing left to send on.
	openBody int // FailOpen, FullDuplex, with a body; 0: as open
	// Only a picker that gets the first part of a body has a time to answer.
	openPartial, closePartial int // 0: the same
}{
	{what: "answers"},
	{what: "answers before the body", header: map[string]string{"X-Pick-When": "early"}},
	{what: "answers in a header", header: map[string]string{"X-Pick-By": "header"}},
	{what: "answers in metadata", header: map[string]string{"X-Pick-By": "metadata"}},
	{what: "names one that takes no connection first", header: map[string]string{"X-Pick": "127.0.0.1:1,${green}"}},
	{what: "names nobody", header: map[string]string{"X-Pick": ""}, open: 200, close: 503},
	{what: "names one that is not the pool's", header: map[string]string{"X-Pick": "${stranger}"}, open: 200, close: 503},
	{what: "names no address", header: map[string]string{"X-Pick": "what?"}, open: 200, close: 503},
	{what: "says nothing", header: map[string]string{"X-Pick-Fault": "hang"}, open: 504, close: 504, openPartial: 200},
	{what: "dies", header: map[string]string{"X-Pick-Fault": "die"}, open: 200, openBody: 503, close: 503},
	{what: "answers rubbish", header: map[string]string{"X-Pick-Fault": "rubbish"}, open: 200, openBody: 503, close: 503},
	{what: "says 503", header: map[string]string{"X-Pick-Fault": "503"}, open: 503, close: 503},
	{what: "says 429", header: map[string]string{"X-Pick-Fault": "429"}, open: 429, close: 429},
}

// TestPoolFailures: what becomes of requests while a picker fails is what its pool says, without bodies, with small
// ones and with those of 2 MB.
func TestPoolFailures(t *testing.T) {
	s := openPools(t)
	s.fill("${stranger}") // answers, and is no member
	for _, body := range []int{0, 10, 2 << 20} {
		for _, row := range poolFailures {
			for _, mode := range []string{"open-duplex", "close-duplex", "open-partial", "close-partial"} {
				want := map[string]int{
					"open-duplex": row.open, "close-duplex": row.close, "open-partial": row.open, "close-partial": row.close,
				}[mode]
				if mode == "open-duplex" && body > 0 && row.openBody != 0 {
					want = row.openBody
				}
				if mode == "open-partial" && row.openPartial != 0 {
					want = row.openPartial
				}
				s.check(poolCall{Path: "/" + mode, Body: body, Header: row.header}, row.what, want)
			}
		}
		for _, trouble := range []string{"missing", "none", "refused"} {
			s.check(poolCall{Path: "/open-" + trouble, Body: body}, "is "+trouble, 200)
			s.check(poolCall{Path: "/close-" + trouble, Body: body}, "is "+trouble, 503)
		}
	}
}

// check makes a call to a pool whose picker would name the backend green, and whose client names blue. A status of 0 is
// an answer of green.
func (s *poolStage) check(c poolCall, what string, status int) {
	s.t.Helper()
	header := map[string]string{"X-Pick": s.member("green"), "X-Gateway-Destination-Endpoint": s.member("blue")}
	for name, value := range c.Header {
		for backend := range s.ports {
			value = strings.ReplaceAll(value, "${"+backend+"}", s.member(backend))
		}
		header[name] = value
	}
	c.Header = header
	answer, err := s.ask(c)
	at := fmt.Sprintf("%s, %d bytes, the picker %s", c.Path, c.Body, what)
	if err != nil {
		s.t.Errorf("%s: %v", at, err)
		return
	}
	want := status
	if status == 0 {
		want = http.StatusOK
		if by, told := answer.Header.Get("Served-By"), answer.Header.Get("Told-Served"); by != "green" ||
			told != s.member("green") {
			s.t.Errorf("%s: served by %q, and the picker was told of %q", at, by, told)
		}
	}
	if answer.StatusCode != want {
		s.t.Errorf("%s: %d, want %d", at, answer.StatusCode, want)
	}
	if by := answer.Header.Get("Served-By"); by == "stranger" {
		s.t.Errorf("%s: a stranger answered", at)
	}
	if got := answer.Header.Get("Body-Bytes"); answer.StatusCode == http.StatusOK && got != strconv.Itoa(c.Body) {
		s.t.Errorf("%s: the pod got %s bytes", at, got)
	}
}

// TestPoolClientsDoNotSteer: what a client says of endpoints is taken off, also where nobody is asked, and the picker
// does not get to see it.
func TestPoolClientsDoNotSteer(t *testing.T) {
	s := openPools(t)
	const header = "X-Gateway-Destination-Endpoint"
	for _, pool := range []string{"unpicked", "open-missing", "open-none", "open-refused", "open-duplex", "open-partial"} {
		path := "/" + pool
		by := map[string]int{}
		for range 40 {
			answer, err := s.ask(poolCall{Path: path + "?tell=" + header, Header: map[string]string{header: s.member("blue")}})
			if err != nil {
				t.Fatal(err)
			}
			if told := answer.Header.Get("Told"); told != "" {
				t.Fatalf("%s: the pod was told %q", path, told)
			}
			by[answer.Header.Get("Served-By")]++
		}
		if by["green"] == 0 {
			t.Errorf("%s: %v: all requests went where the client said", path, by)
		}
	}
	if n, last := s.picker.Asked(); n == 0 || last.Get(header) != "" {
		t.Errorf("the picker was asked %d times, last with %s: %q", n, header, last.Get(header))
	}
}

// TestPoolStreams: parts of an answer come when they are sent. The picker was told of the endpoint when the answer
// began. With FullDuplex its stream ends there, and the answer goes on when the picker ends. With BufferedPartial the
// stream lasts until the answer's end, and a picker that ends meanwhile ends the answer unless the pool fails open.
func TestPoolStreams(t *testing.T) {
	for _, c := range []struct {
		failure, body string
		open          int  // requests that the picker knows while the answer is under way
		cut           bool // the answer ends with the picker
	}{
		{"FailClose", "FullDuplex", 0, false}, {"FailOpen", "FullDuplex", 0, false},
		{"FailClose", "BufferedPartial", 1, true}, {"FailOpen", "BufferedPartial", 1, false},
	} {
		t.Run(c.failure+" "+c.body, func(t *testing.T) { poolStreams(t, c.failure, c.body, c.open, c.cut) })
	}
}

func poolStreams(t *testing.T, failure, body string, open int, cut bool) {
	s := openPools(t)
	next := make(chan struct{})
	port := streamServer(t, next)
	s.ports["events"] = port
	pool, rule := s.pool("events", "picker", failure, body)
	pool = strings.Replace(pool, fmt.Sprintf("{number: ${%s}}", "blue"), fmt.Sprintf("{number: %d}", port), 1)
	s.write("events.yaml", pool)
	s.write("events-route.yaml", routeFile("events", "events.example", rule))
	endpoint := fmt.Sprintf("127.0.0.1:%d", port)
	var answer *http.Response
	e2e.Eventually(t, func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://"+net.JoinHostPort(s.Address, strconv.Itoa(80+e2e.Offset))+"/events", strings.NewReader(`{"stream":true}`))
		if err != nil {
			return err
		}
		r.Host = "events.example"
		r.Header.Set("X-Pick", endpoint)
		if answer, err = http.DefaultClient.Do(r); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			answer.Body.Close()
			return fmt.Errorf("status %d", answer.StatusCode)
		}
		return nil
	})
	defer answer.Body.Close()
	if told := answer.Header.Get("Told-Served"); told != endpoint {
		t.Errorf("the picker was told of %q", told)
	}
	lines := bufio.NewReader(answer.Body)
	for i := range 3 {
		line, err := lines.ReadString('\n')
		if want := fmt.Sprintf("data: %d\n", i); err != nil || line != want {
			t.Fatalf("%q, %v, want %q", line, err, want)
		}
		if i == 1 {
			e2e.Eventually(t, func() error {
				if n := s.picker.Open(); n != open {
					return fmt.Errorf("the picker knows %d requests, want %d", n, open)
				}
				return nil
			})
			s.picker.Server.Stop()
			if cut {
				if rest, err := io.ReadAll(lines); err == nil {
					t.Errorf("the answer ended as if it were whole, with %q", rest)
				}
				return
			}
		}
		next <- struct{}{} // the server sends no more before
	}
	if _, err := io.ReadAll(lines); err != nil {
		t.Fatal(err)
	}
}

// streamServer answers with three events, and waits after each.
func streamServer(t *testing.T, next chan struct{}) (port int) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr).Port
}

// TestPoolPickerComesAndGoes: the Service of a picker may come, go and move: routes don't change, and requests go where
// the picker says as soon as it is there.
func TestPoolPickerComesAndGoes(t *testing.T) {
	s := openPools(t)
	before := s.counters("cardea_xds_responses_total")
	s.check(poolCall{Path: "/close-missing"}, "is missing", 503)
	s.write("gone.yaml", pickerFile("gone", s.picker.Port))
	e2e.Eventually(t, func() error {
		answer, err := s.ask(poolCall{Path: "/close-missing", Header: map[string]string{"X-Pick": s.member("green")}})
		if err == nil && answer.Header.Get("Served-By") != "green" {
			err = fmt.Errorf("status %d, served by %q", answer.StatusCode, answer.Header.Get("Served-By"))
		}
		return err
	})
	if sent := s.sent(before); strings.Contains(sent, "Route") || strings.Contains(sent, "Listener") {
		t.Errorf("sent %s, want no routes", sent)
	}
	s.remove("gone.yaml")
	e2e.Eventually(t, func() error {
		answer, err := s.ask(poolCall{Path: "/close-missing", Header: map[string]string{"X-Pick": s.member("green")}})
		if err == nil && answer.StatusCode != http.StatusServiceUnavailable {
			err = fmt.Errorf("status %d", answer.StatusCode)
		}
		return err
	})
}

// TestPoolExplained: the story of a request tells who chooses, among how many, and what becomes of it without him.
func TestPoolExplained(t *testing.T) {
	s := openPools(t)
	for pool, want := range map[string]string{
		"close-duplex": "chosen by the picker Service shop/picker port 9002 among 2 endpoints; while it does not answer, " +
			"requests get 503",
		"open-duplex": "chosen by the picker Service shop/picker port 9002 among 2 endpoints; while it does not answer, " +
			"the proxy chooses",
		"open-none": "chosen by the picker Service shop/none port 9002 among 2 endpoints; while it does not answer, " +
			"the proxy chooses",
		"unpicked": "there is no picker: among 2 endpoints, the one with the fewest requests gets it",
	} {
		s.told("http://models.example/"+pool, "answer     InferencePool shop/"+pool, want)
	}
	s.told("http://models.example/close-none", "answer     503, by the proxy")
}

// TestPoolsOfProxiesThatReadFiles: such a proxy asks the picker, too, and does without one as the pool says.
func TestPoolsOfProxiesThatReadFiles(t *testing.T) {
	s := pools(t)
	s.write("gateway.yaml", onFiles(gatewayFile(80)))
	s.write("plane.yaml", readsFiles)
	s.start()
	s.Ready(t)
	nobody := map[string]string{"X-Pick": ""}
	for _, body := range []int{0, 10, 2 << 20} {
		for mode, without := range map[string]int{"open": http.StatusOK, "close": http.StatusServiceUnavailable} {
			for _, way := range []string{"-duplex", "-partial"} {
				s.check(poolCall{Path: "/" + mode + way, Body: body}, "answers", 0)
				s.check(poolCall{Path: "/" + mode + way, Body: body, Header: nobody}, "names nobody", without)
			}
			s.check(poolCall{Path: "/" + mode + "-refused", Body: body}, "is refused", without)
		}
	}
}
