package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/test/promtext"
)

// stage is a folder that a Program serves, the backends behind it and somebody who calls.
type stage struct {
	*e2e.Program
	t      testing.TB
	book   *logbook
	client *calls.Client
	ports  map[string]int // of backends, by name
}

// open serves a folder (a txtar archive of its files; ${x} is the port of a backend named x) and waits until it is
// live.
func open(t testing.TB, archive string, change ...func(*standalone.Options)) *stage {
	s := prepare(t, t.TempDir(), archive)
	s.start(change...)
	s.Ready(t)
	return s
}

// prepare makes a stage in a folder; start runs the program.
func prepare(t testing.TB, dir, archive string) *stage {
	t.Helper()
	s := &stage{Program: &e2e.Program{Dir: dir}, t: t, book: &logbook{t: t}, ports: map[string]int{}}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		s.write(f.Name, string(f.Data))
	}
	return s
}

func (s *stage) start(change ...func(*standalone.Options)) {
	s.t.Helper()
	logged := func(o *standalone.Options) { o.Log = slog.New(slog.NewJSONHandler(s.book, nil)) }
	s.Program = e2e.Start(s.t, s.Dir, append([]func(*standalone.Options){logged}, change...)...)
	s.meet()
}

// meet makes the client of a program that runs.
func (s *stage) meet() {
	s.client = calls.NewClient(s.Address, e2e.Offset)
	s.t.Cleanup(s.client.Close)
}

// write replaces a file at once.
func (s *stage) write(name, text string) {
	s.t.Helper()
	s.Write(s.t, name, s.fill(text))
}

func (s *stage) remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

// fill puts in the ports of the backends that a text names.
func (s *stage) fill(text string) string {
	return e2e.Placeholder.ReplaceAllStringFunc(text, func(p string) string {
		name := e2e.Placeholder.FindStringSubmatch(p)[1]
		if s.ports[name] == 0 {
			s.ports[name] = e2e.Backend(s.t, name)
		}
		return strconv.Itoa(s.ports[name])
	})
}

// try makes the calls, once.
func (s *stage) try(text string) error {
	list, err := calls.Parse(strings.NewReader(text))
	if err != nil || len(list) == 0 {
		s.t.Fatalf("calls: %v in %q", err, text)
	}
	for _, call := range list {
		if err := s.client.Do(s.t.Context(), call); err != nil {
			return err
		}
	}
	return nil
}

// expect makes the calls now.
func (s *stage) expect(text string) {
	s.t.Helper()
	if err := s.try(text); err != nil {
		s.t.Errorf("%v", err)
	}
}

// soon makes the calls until all are answered as they should be.
func (s *stage) soon(text string) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error { return s.try(text) })
}

// conditions lists an object's conditions, such as "Accepted=True Accepted", "http: Programmed=False Pending" for a
// listener or "web: Accepted=True Accepted" for a parent. It also tells the generation if all of them were made for it.
func (s *stage) conditions(path string) (lines []string, generation int64, err error) {
	var o struct {
		Metadata metav1.ObjectMeta
		Status   struct {
			Conditions []metav1.Condition
			Listeners  []struct {
				Name           string
				AttachedRoutes int
				Conditions     []metav1.Condition
			}
			Parents []struct {
				ParentRef  struct{ Name string }
				Conditions []metav1.Condition
			}
			Ancestors []struct {
				AncestorRef struct{ Name string }
				Conditions  []metav1.Condition
			}
		}
	}
	if err := s.Object(path, &o); err != nil {
		return nil, 0, err
	}
	generation = o.Metadata.Generation
	add := func(prefix string, list []metav1.Condition) {
		for _, c := range list {
			lines = append(lines, fmt.Sprintf("%s%s=%s %s: %s", prefix, c.Type, c.Status, c.Reason, c.Message))
			if c.ObservedGeneration != o.Metadata.Generation {
				generation = 0
			}
		}
	}
	add("", o.Status.Conditions)
	for _, l := range o.Status.Listeners {
		lines = append(lines, fmt.Sprintf("%s: attachedRoutes=%d", l.Name, l.AttachedRoutes))
		add(l.Name+": ", l.Conditions)
	}
	for _, p := range o.Status.Parents {
		add(p.ParentRef.Name+": ", p.Conditions)
	}
	for _, a := range o.Status.Ancestors {
		add(a.AncestorRef.Name+": ", a.Conditions)
	}
	return lines, generation, nil
}

// says waits until an object's status is of its newest generation and holds conditions that begin with each of the
// lines.
func (s *stage) says(path string, want ...string) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error { return s.saysNow(path, want...) })
}

func (s *stage) saysNow(path string, want ...string) error {
	lines, generation, err := s.conditions(path)
	if err != nil {
		return err
	}
	if generation == 0 {
		return fmt.Errorf("%s: conditions are of a former generation:\n%s", path, strings.Join(lines, "\n"))
	}
	for _, w := range want {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, w) }) {
			return fmt.Errorf("%s does not say %q but\n%s", path, w, strings.Join(lines, "\n"))
		}
	}
	return nil
}

// generation is an object's, once its status is of it.
func (s *stage) generation(path string) (generation int64) {
	s.t.Helper()
	e2e.Eventually(s.t, func() (err error) {
		if _, generation, err = s.conditions(path); err == nil && generation == 0 {
			err = fmt.Errorf("%s: the conditions are of a former generation", path)
		}
		return err
	})
	return generation
}

// live waits until the proxies have acknowledged a route's generation or a newer one.
func (s *stage) live(path string, generation int64) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		lines, is, err := s.conditions(path)
		if err != nil {
			return err
		}
		programmed := slices.ContainsFunc(lines,
			func(l string) bool { return strings.Contains(l, "cardea.dev/Programmed=True") })
		if is < generation || !programmed {
			return fmt.Errorf("%s is of generation %d, want %d acknowledged:\n%s", path, is, generation,
				strings.Join(lines, "\n"))
		}
		return nil
	})
}

// counters reads a metric's values by their "type".
func (s *stage) counters(metric string) map[string]float64 { return s.gauges(metric, "type") }

// gauges reads a metric's values by their only label.
func (s *stage) gauges(metric, label string) map[string]float64 {
	s.t.Helper()
	body, err := s.Get("/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	return promtext.Read(body).ByLabel(metric, label)
}

// sent tells how many responses of each type were sent since.
func (s *stage) sent(since map[string]float64) string {
	s.t.Helper()
	var list []string
	for typ, n := range s.counters("cardea_xds_responses_total") {
		if n > since[typ] {
			list = append(list, typ)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// hold keeps a port of the stage's address, where a listener would be.
func (s *stage) hold(address string, port int) net.Listener {
	s.t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port+e2e.Offset)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	return l
}

// logbook reads the program's log, which is written in JSON, and shows it with the test.
type logbook struct {
	t testing.TB

	mu   sync.Mutex
	rest []byte
	list []record
}

// record is a line of the log.
type record struct {
	Msg, Address string
	PID          int
	In           int64 // ns
	text         string
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = append(b.rest, p...)
	for {
		line, rest, whole := bytes.Cut(b.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		r := record{text: string(line)}
		// What is no JSON is a line all the same.
		_ = json.Unmarshal(line, &r)
		b.list = append(b.list, r)
		b.rest = rest
		b.t.Log(r.text)
	}
}

// find lists the lines with this message that hold all the words.
func (b *logbook) find(msg string, words ...string) []record {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []record
	for _, r := range b.list {
		if r.Msg == msg && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(r.text, w) }) {
			found = append(found, r)
		}
	}
	return found
}

// reads waits for a line of the log.
func (s *stage) reads(msg string, words ...string) record {
	s.t.Helper()
	var found []record
	e2e.Eventually(s.t, func() error {
		if found = s.book.find(msg, words...); len(found) == 0 {
			return fmt.Errorf("the log does not say %q with %q", msg, words)
		}
		return nil
	})
	return found[len(found)-1]
}

// gatewayFile is the Gateway shop/web with an HTTP listener on each port.
func gatewayFile(ports ...int) string {
	text := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: web, namespace: shop}\n" +
		"spec:\n  gatewayClassName: cardea\n  listeners:\n"
	for _, port := range ports {
		text += fmt.Sprintf("  - {name: http-%d, port: %d, protocol: HTTP}\n", port, port)
	}
	return text
}

// routeFile is an HTTPRoute in namespace shop for a host, with rules as they are written in YAML's flow style.
func routeFile(name, host string, rules ...string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s, namespace: "+
		"shop}\nspec:\n"+
		"  parentRefs: [{name: web}]\n  hostnames: [%q]\n  rules:\n  - %s\n", name, host, strings.Join(rules, "\n  - "))
}

// to is a rule that sends everything to a Service.
func to(service string) string { return "backendRefs: [{name: " + service + ", port: 80}]" }

// serviceFile is a Service in namespace shop and its endpoints: the backend of that name.
func serviceFile(name, backend string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\nspec: {ports: [{port: "+
		"80}]}\n---\n"+
		"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %s, namespace: shop, labels: "+
		"{kubernetes.io/service-name: %s}}\n"+
		"addressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]\nports: [{port: ${%s}}]\n", name, name, name, backend)
}

// archive joins names and contents of files to a txtar archive.
func archive(namesAndFiles ...string) string {
	a := &txtar.Archive{}
	for i := 0; i < len(namesAndFiles); i += 2 {
		a.Files = append(a.Files, txtar.File{Name: namesAndFiles[i], Data: []byte(namesAndFiles[i+1])})
	}
	return string(txtar.Format(a))
}

// shop is a Gateway on port 80, a route for shop.example to the Service blue, and the Services blue and green.
func shop() string {
	return archive("gateway.yaml", gatewayFile(80), "route.yaml", routeFile("web", "shop.example", to("blue")),
		"blue.yaml", serviceFile("blue", "blue"), "green.yaml", serviceFile("green", "green"))
}

// envoyAt runs another Envoy.
func envoyAt(path string) func(*standalone.Options) {
	return func(o *standalone.Options) { o.ProxyProgram = path }
}

// bindAt binds Gateways to an address that the test chose.
func bindAt(address string) func(*standalone.Options) {
	return func(o *standalone.Options) { o.Bind = []string{address} }
}
