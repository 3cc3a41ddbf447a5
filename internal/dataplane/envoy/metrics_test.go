package envoy

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/test/testcert"
)

// TestSeriesOfManyRoutes: a pod has the metrics at a port of their own, and nothing else there. What a rule adds is
// bounded, however many hosts it serves, and what a backend adds is, too.
func TestSeriesOfManyRoutes(t *testing.T) {
	const routes, hosts, perRoute, perBackend = 1000, 3, 15, 20
	w, port := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPortAt(b, []string{"127.0.0.1"}, 80, port, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		for i := range routes {
			for host := range hosts {
				rule := forward(fmt.Sprintf("r%d", i), prefix(fmt.Sprintf("/%d", i)))
				w.serve(b, i, 80, "http", fmt.Sprintf("h%d.example", host), rule)
			}
		}
	})
	authority := testcert.NewAuthority("ca")
	e := startPodEnvoy(t, newPodServer(t, w.resources(), serves(authority, podServerName)), authority.Certificate, "token")
	e.awaitReady()
	for i := range routes {
		c := call{Host: fmt.Sprintf("h%d.example", i%hosts), URI: fmt.Sprintf("/%d", i)}
		if a := c.do(t, port); a.Status != http.StatusOK {
			t.Fatalf("%+v: %d", c, a.Status)
		}
	}
	c := call{Host: "h0.example", URI: "/nothing"}
	c.do(t, port)

	last := `envoy_cardea_request_duration_ms_count{gateway="shop/web",route="httproute/shop/r999/rule"} 1`
	const backend = `backend="service/shop/web/8080"`
	text := e.awaitMetrics(last, `envoy_cardea_requests_total{gateway="shop/web",route="",backend="",code="4xx"} 1`,
		`envoy_cardea_requests_total{gateway="shop/web",route="httproute/shop/r0/rule",`+backend+`,code="2xx"} 1`,
		`envoy_cluster_membership_healthy{gateway="shop/web",`+backend+`} 1`)
	series := regexp.MustCompile(`(?m)^[a-z]`).FindAllString(text, -1)
	ofRoutes := len(regexp.MustCompile(`(?m)^[^#].*route="httproute`).FindAllString(text, -1))
	ofBackend := len(regexp.MustCompile(`(?m)^envoy_cluster_.*"service/shop/web/8080"`).FindAllString(text, -1))
	t.Logf("%d series in %d bytes, %d of them of %d rules, %d of the backend", len(series), len(text), ofRoutes, routes,
		ofBackend)
	if ofRoutes > routes*perRoute || ofRoutes < routes*5 {
		t.Errorf("%d series of %d rules, want at most %d of each", ofRoutes, routes, perRoute)
	}
	if ofBackend > perBackend || len(series)-ofRoutes-ofBackend > 300 { // 22 of them are of limits
		t.Errorf("%d series of the backend, %d of the proxy", ofBackend, len(series)-ofRoutes-ofBackend)
	}
	if strings.Contains(text, "h1.example") {
		t.Error("there are series of hosts")
	}
	for path, want := range map[string]int{
		bootstrap.MetricsPath: 200, bootstrap.MetricsPath + "?filter=.": 404, "/stats": 404, "/config_dump": 404, "/": 404,
	} {
		if status, _ := e.get(e.metrics + path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	post, err := client(t, nil).Post(e.metrics+bootstrap.MetricsPath, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if post.Body.Close(); post.StatusCode != http.StatusNotFound {
		t.Errorf("POST: %d", post.StatusCode)
	}
}

// awaitMetrics waits until the metrics have lines; Envoy counts what takes time every five seconds.
func (e *podEnvoy) awaitMetrics(lines ...string) string {
	e.t.Helper()
	text, missing := "", ""
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		_, text = e.get(e.metrics + bootstrap.MetricsPath)
		missing = ""
		for _, line := range lines {
			if !strings.Contains(text, line+"\n") {
				missing = line
			}
		}
		if missing == "" {
			return text
		}
	}
	e.t.Fatalf("there is no %s in\n%s", missing, text)
	return ""
}
