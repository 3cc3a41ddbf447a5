package live

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
)

// statusCodes is a line of h2load's report: how many answers there were of each class of statuses.
var statusCodes = regexp.MustCompile(`(?m)^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$`)

// loads makes requests over HTTP/2 by 8 connections, each of which has as many open as streams, and counts the answers
// by the first digit of their status. All of them must be answered.
func (s *stage) loads(t *testing.T, program string, requests, streams int, url string) map[int]int {
	t.Helper()
	load := exec.Command(program, "-n", strconv.Itoa(requests), "-c", "8", "-m", strconv.Itoa(streams),
		"--connect-to="+s.at(80), url)
	out, err := load.CombinedOutput()
	found := statusCodes.FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("h2load: %v: %s", err, out)
	}
	by, sum := map[int]int{}, 0
	for class, n := range found[1:] {
		by[class+2], _ = strconv.Atoi(string(n))
		sum += by[class+2]
	}
	if sum != requests {
		t.Errorf("%d of %d requests were answered: %s", sum, requests, out)
	}
	return by
}

// TestLimitUnderLoad: of many requests at a time exactly those pass that a limit allows, and none does later, when
// another policy has changed.
func TestLimitUnderLoad(t *testing.T) {
	t.Parallel()
	program := e2e.Fetched(t, "h2load")
	b := prepareHTTPBin(t)
	b.behind("limited", "rateLimits: [{name: twenty, requests: 20, interval: 1h}]")
	b.behind("other", "")
	b.start()
	b.Ready(t)
	const requests = 400
	if by := b.loads(t, program, requests, 10, "http://limited.example/get"); by[2] != 20 || by[4] != requests-20 {
		t.Errorf("answers by class: %v, want 20 of 2xx and the others of 4xx", by)
	}
	b.write("other-policy.yaml", routePolicyFile("TrafficPolicy", "other", "headers: {response: {set: [{name: x-edited, "+
		"value: edited}]}}"))
	b.soon("GET http://other.example/get -> 200 x-edited=edited")
	if by := b.loads(t, program, requests, 10, "http://limited.example/get"); by[4] != requests {
		t.Errorf("answers by class after another policy's edit: %v, want 4xx only", by)
	}
	if by := b.loads(t, program, requests, 10, "http://other.example/uuid"); by[2] != requests {
		t.Errorf("answers by class without a limit: %v, want 2xx only", by)
	}
}

// TestBackendLimitsUnderLoad: a slow backend gets few requests at a time. The proxy answers the others with 503, and
// counts them.
func TestBackendLimitsUnderLoad(t *testing.T) {
	t.Parallel()
	program := e2e.Fetched(t, "h2load")
	b := prepareHTTPBin(t)
	const requests, few = 64, 4
	tests := []struct{ name, limits, path, counter string }{
		{"requests", "{requests: 4}", "/delay/1s", "active_overflow"},
		{"connections", "{connections: 4, pendingRequests: 2}", "/delay/1000ms", "pending_overflow"},
	}
	for _, test := range tests {
		b.behind(test.name, "")
		b.write(test.name+"-limits.yaml", backendPolicyFile(test.name, "limits: "+test.limits))
	}
	work := filepath.Join(t.TempDir(), "w")
	b.start(func(o *standalone.Options) { o.WorkDir = work })
	b.Ready(t)
	for _, test := range tests {
		by := b.loads(t, program, requests, requests/8, "http://"+test.name+".example"+test.path)
		if by[2] == 0 || by[5] == 0 || by[2]+by[5] != requests {
			t.Errorf("%s: answers by class: %v, want some of 2xx, some of 5xx, and no others", test.name, by)
		}
		// Several threads count at once, so one or two may be too many.
		if of := b.asked(t, test.path); of.Requests != by[2] || of.AtOnce > 2*few {
			t.Errorf("%s: the backend got %+v, want the requests of %v, about %d at a time", test.name, of, by, few)
		}
		counter := "cluster.service/shop/" + test.name + "/80.upstream_rq_" + test.counter
		if n := envoyCounters(t, work, "_overflow$")[counter]; n != strconv.Itoa(by[5]) {
			t.Errorf("%s is %q, want each of %d refused requests", counter, n, by[5])
		}
	}
}
