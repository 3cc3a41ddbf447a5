package metrics

import (
	"os"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
	statslogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stats/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

var edge = model.Ref(model.KindGateway, "shop", "web")

// TestMetricsPage: docs/metrics.md names every series that proxies keep, and no other. A * there stands for anything.
func TestMetricsPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`envoy_.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			named = append(named, name[1])
		}
	}
	kept := seriesKept(t)
	if len(named) < 30 || len(kept) < 30 {
		t.Fatalf("only %d are named, and %d kept", len(named), len(kept))
	}
	meets := func(a, b string) bool {
		short := min(strings.Index(a+"*", "*"), strings.Index(b+"*", "*"))
		return len(a) >= short && len(b) >= short && a[:short] == b[:short] &&
			(strings.Contains(a+b, "*") || a == b)
	}
	for _, k := range kept {
		if !slices.ContainsFunc(named, func(n string) bool { return meets(n, k) }) {
			t.Errorf("%s is kept, and not on the page", k)
		}
	}
	for _, n := range named {
		if !slices.ContainsFunc(kept, func(k string) bool { return meets(n, k) }) {
			t.Errorf("%s is on the page, and not kept", n)
		}
	}
}

// seriesKept are the names under which Prometheus reads what the bootstrap keeps; a prefix of which all is kept ends
// with a *.
func seriesKept(t *testing.T) (names []string) {
	t.Helper()
	config := NewConfig("shop/web")
	var labels []*regexp.Regexp
	for _, tag := range config.GetStatsTags() {
		if tag.GetRegex() != "" {
			labels = append(labels, regexp.MustCompile(tag.GetRegex()))
		}
	}
	for _, m := range config.GetStatsMatcher().GetInclusionList().GetPatterns() {
		switch p := m.GetMatchPattern().(type) {
		case *matcherv3.StringMatcher_Prefix:
			if p.Prefix != metricsPrefix+"." { // which has those of logs
				names = append(names, prometheusName(p.Prefix, nil)+"*")
			}
		case *matcherv3.StringMatcher_SafeRegex:
			re, err := syntax.Parse(p.SafeRegex.GetRegex(), syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			for _, stat := range spelled(re) {
				names = append(names, prometheusName(stat, labels))
			}
		}
	}
	for _, log := range append(CountModels(edge), CountRequests(edge)) {
		c := new(statslogv3.Config)
		if err := log.GetTypedConfig().UnmarshalTo(c); err != nil {
			t.Fatal(err)
		}
		for _, counter := range c.GetCounters() {
			names = append(names, prometheusName(metricsPrefix+"."+counter.GetStat().GetName(), nil))
		}
		for _, histogram := range c.GetHistograms() {
			names = append(names, prometheusName(metricsPrefix+"."+histogram.GetStat().GetName(), nil))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// prometheusName is a statistic's name without its labels, as Envoy writes it for Prometheus.
func prometheusName(stat string, labels []*regexp.Regexp) string {
	gone := make([]bool, len(stat))
	for _, l := range labels {
		if at := l.FindStringSubmatchIndex(stat); at != nil {
			for i := at[2]; i < at[3]; i++ {
				gone[i] = true
			}
		}
	}
	name := ""
	for i, c := range stat {
		if !gone[i] {
			name += string(c)
		}
	}
	return "envoy_" + regexp.MustCompile(`[^a-zA-Z0-9_*]`).ReplaceAllString(name, "_")
}

// spelled are the texts that an expression takes: any text is a/a/a, any of some characters is "a", and any end is *.
func spelled(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCapture:
		return spelled(re.Sub[0])
	case syntax.OpQuest:
		return append(spelled(re.Sub[0]), "")
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, spelled(sub)...)
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			var longer []string
			for _, begin := range all {
				for _, end := range spelled(sub) {
					longer = append(longer, begin+end)
				}
			}
			all = longer
		}
		return all
	case syntax.OpStar:
		return []string{"*"}
	case syntax.OpPlus:
		if re.Sub[0].Op == syntax.OpCharClass {
			return []string{"a"}
		}
		return []string{"a/a/a"}
	case syntax.OpCharClass: // of letters that alternatives begin with
		var all []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				all = append(all, string(r))
			}
		}
		return all
	case syntax.OpEmptyMatch:
		return []string{""}
	}
	panic("an expression of another form: " + re.String())
}
