package live

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/standalone"
)

const observability = "../../../../deploy/observability"

// inClusterOnly are metrics that `cardea standalone` does not have.
const inClusterOnly = "cardea_certs_expiry_timestamp_seconds"

// TestDashboardsAndAlerts: a real Prometheus scrapes a proxy and Cardea. Every query of the dashboards returns data,
// every alert is evaluated, and what it looks at is there.
func TestDashboardsAndAlerts(t *testing.T) {
	t.Parallel()
	programs := e2e.Fetched(t, "prometheus")
	rules, err := filepath.Abs(filepath.Join(observability, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command(filepath.Join(programs, "promtool"), "check", "rules", rules)
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := open(t, shop(), func(o *standalone.Options) { o.Dialects = dataplanes.All() })
	s.hold(s.Address, 82) // so the proxy refuses a listener
	s.write("gateway.yaml", gatewayFile(80, 82))
	s.write("broken.yaml", routeFile("broken", "broken.example", to("nobody")))
	s.reads("finding", "Gateway shop/web: spec.listeners[1]", "rejected")
	calls := "GET http://shop.example/ -> 200 blue\nGET http://broken.example/ -> 500\nGET http://none.example/ -> 404\n"
	s.soon(calls)

	p := startPrometheus(t, programs, rules, strings.TrimPrefix(s.Admin, "http://"))
	for _, file := range []string{"gateways.json", "control-plane.json"} {
		for title, expr := range dashboardQueries(t, filepath.Join(observability, file)) {
			e2e.Eventually(t, func() error {
				s.expect(calls)
				return p.hasData(file+", "+title, expr)
			})
		}
	}
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range regexp.MustCompile(`\b(envoy|cardea)_[a-z0-9_]+`).FindAllString(string(text), -1) {
		if metric != inClusterOnly {
			e2e.Eventually(t, func() error { return p.hasData("alerts", "count("+metric+")") })
		}
	}
	e2e.Eventually(t, func() error { return p.evaluated(strings.Count(string(text), "- alert:")) })
}

// dashboardQueries are the queries of a dashboard, by the titles of their panels, with all variables set to all.
func dashboardQueries(t *testing.T, file string) map[string]string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	fill := strings.NewReplacer("$__rate_interval", "1m", "$gateway", ".*", "$route", ".*", "$backend", ".*")
	for i, panel := range board.Panels {
		for _, target := range panel.Targets {
			all[fmt.Sprintf("%d %s %s", i, panel.Title, target.RefID)] = fill.Replace(target.Expr)
		}
	}
	if len(all) < 10 {
		t.Fatalf("%s: only %d queries", file, len(all))
	}
	return all
}

// prometheus is a real one.
type prometheus struct{ url string }

func startPrometheus(t *testing.T, programs, rules, cardea string) prometheus {
	t.Helper()
	config := fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
- {job_name: cardea, static_configs: [{targets: [%q]}]}
- {job_name: cardea-proxies, metrics_path: /proxies/shop/web/metrics, static_configs: [{targets: [%q]}]}
`, rules, cardea, cardea)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	command := exec.Command(filepath.Join(programs, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at, "--log.level=warn")
	command.Stdout, command.Stderr = t.Output(), t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return prometheus{"http://" + at}
}

func (p prometheus) read(path string, into any) error {
	response, err := http.Get(p.url + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

// hasData tells whether a query returns anything.
func (p prometheus) hasData(what, expr string) error {
	var answer struct {
		Error string
		Data  struct{ Result []any }
	}
	err := p.read("/api/v1/query?query="+url.QueryEscape(expr), &answer)
	if err == nil && len(answer.Data.Result) == 0 {
		err = fmt.Errorf("%s: no data %s: %s", what, answer.Error, expr)
	}
	return err
}

// evaluated tells whether all alerts were evaluated without an error.
func (p prometheus) evaluated(n int) error {
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := p.read("/api/v1/rules", &answer); err != nil {
		return err
	}
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				return fmt.Errorf("%s: %s %s", rule.Name, rule.Health, rule.LastError)
			}
			n--
		}
	}
	if n != 0 {
		return fmt.Errorf("%d alerts are missing", n)
	}
	return nil
}
