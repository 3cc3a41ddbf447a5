package kubernetes

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// away is how long the API server is. What depends on the length are the pauses before Cardea's parts ask again: they
// grow to 30 s.
var away = flag.Duration("away", 60*time.Second, "how long the API server is away in TestAPIServerAway")

// TestAPIServerAway: requests go on while the API server is away, and a proxy that is started again meanwhile is
// served, too. What is written when it is back is served, and statuses are true.
func TestAPIServerAway(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	s.apply(gateway(s.namespace, "hurt") + route(s.namespace, "hurt", "hurt", "hurt.example", "blue"))
	hurt := s.address("hurt")
	s.gets(hurt, "hurt.example", "/", by("blue"))
	proxy := s.ready(s.namespace, proxiesOf("hurt"), 1)[0]
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	was := s.controller()
	said := s.says(was, "API server can't be read", "API server is read again")
	calls.moves(100)
	s.step("the API server goes")
	s.StopAPIServer()
	back := time.After(*away)
	s.kill(proxy)
	s.gets(hurt, "hurt.example", "/", by("blue"))
	s.step("the proxy that was killed serves again")
	<-back
	if err := s.StartAPIServer(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.step("the API server is back")
	s.sentTo("green", address)
	s.step("the edit is served")
	s.apply(gateway(s.namespace, "new") + route(s.namespace, "new", "new", "new.example", "blue"))
	s.gets(s.address("new"), "new.example", "/", by("blue"))
	s.live("web", "hurt", "new")
	s.step("another Gateway serves")
	s.sameController(was)
	s.until("the outage is said once, and its end", func() (string, bool) {
		began, ended := said()
		return fmt.Sprint(began, ended), began == 1 && ended == 1
	})
	calls.flawless()
}

// TestEtcdRestarted: the same when the API server's store is started again.
func TestEtcdRestarted(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	was := s.controller()
	s.step("etcd goes")
	if err := s.RestartEtcd(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.step("etcd is back")
	s.sentTo("green", address)
	s.step("the edit is served")
	s.sameController(was)
	calls.flawless()
}

// says counts how often a pod says two things from now on.
func (s *stage) says(pod corev1.Pod, one, two string) func() (ones, twos int) {
	s.Helper()
	before := s.logs(pod)
	return func() (int, int) {
		s.Helper()
		since := strings.TrimPrefix(s.logs(pod), before)
		return strings.Count(since, one), strings.Count(since, two)
	}
}
