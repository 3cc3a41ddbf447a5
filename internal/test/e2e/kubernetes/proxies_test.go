package kubernetes

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestProxyKilled: one of two proxies is killed by SIGKILL. What it was answering and what was sent to it before the
// cluster knew fails; the other one serves on, and when it is back nothing fails any more.
func TestProxyKilled(t *testing.T) {
	s := newStage(t)
	address := s.fleet("edge", "{replicas: 2}")
	pods := s.ready(s.namespace, proxiesOf("edge"), 2)
	calls := s.traffic(100, address, by("blue"), "shop.example")
	calls.moves(50)
	killed := time.Now()
	s.kill(pods[0])
	s.until("the proxy was started again and is ready", func() (string, bool) {
		pods := s.pods(s.namespace, proxiesOf("edge"))
		restarts, ready := 0, 0
		for _, p := range pods {
			for _, c := range p.Status.ContainerStatuses {
				restarts += int(c.RestartCount)
				if c.Ready {
					ready++
				}
			}
		}
		return fmt.Sprint(restarts, ready), restarts == 1 && ready == 2
	})
	// A connection that was begun before may still be on its way.
	calls.moves(50)
	back := time.Now()
	s.step("it is back")
	calls.moves(200)
	asked, failed := calls.soFar()
	if len(failed) >= asked/2 {
		t.Errorf("%d of %d requests failed: the other proxy did not serve", len(failed), asked)
	}
	calls.flawlessBut(func(f failure) bool { return f.at.After(killed.Add(-time.Second)) && f.at.Before(back) })
	s.address("edge")
	s.live("web")
}

// TestProxyDeleted: the pods of the proxies are deleted, one after the other. They tell their clients to leave, and end
// when those have: no request fails.
func TestProxyDeleted(t *testing.T) {
	s := newStage(t)
	address := s.fleet("edge", "{replicas: 2, pod: {drainSeconds: 3}}")
	pods := s.ready(s.namespace, proxiesOf("edge"), 2)
	calls := s.traffic(100, address, by("blue"), "shop.example")
	for _, pod := range pods {
		s.deletePod(pod)
		s.ready(s.namespace, proxiesOf("edge"), 2)
		s.step("there are two again")
		calls.moves(20)
	}
	calls.flawless()
	s.address("edge")
	s.live("web")
}

// TestRollout: a change of the DataPlane gives a Gateway other pods, then one more, then one only: no request fails.
func TestRollout(t *testing.T) {
	s := newStage(t)
	address := s.fleet("edge", "{replicas: 1, pod: {drainSeconds: 3}}")
	before := s.ready(s.namespace, proxiesOf("edge"), 1)
	calls := s.traffic(100, address, by("blue"), "shop.example")
	for _, change := range []struct {
		what, spec string
		pods       int
		others     bool
	}{
		{"another log level", "{replicas: 1, logLevel: info, pod: {drainSeconds: 3}}", 1, true},
		{"two replicas", "{replicas: 2, logLevel: info, pod: {drainSeconds: 3}}", 2, false},
		{"other resources", "{replicas: 2, logLevel: info, resources: {requests: {cpu: 10m}}, pod: {drainSeconds: 3}}", 2,
			true},
		{"one replica", "{replicas: 1, logLevel: info, resources: {requests: {cpu: 10m}}, pod: {drainSeconds: 3}}", 1, false},
	} {
		s.step("%s", change.what)
		s.apply(dataPlane(s.namespace, "edge", change.spec))
		s.until("the pods are as they should be", func() (string, bool) {
			d := s.deployment("edge")
			all, err := s.allPods(s.namespace, proxiesOf("edge"))
			return fmt.Sprint(len(all), err, statusText(d.Status)), err == nil && len(all) == change.pods &&
				settled(d, change.pods) &&
				(!change.others || !anyOf(all, before))
		})
		before = s.ready(s.namespace, proxiesOf("edge"), change.pods)
	}
	calls.moves(50)
	calls.flawless()
	s.address("edge")
	s.live("web")
}

func anyOf(pods, others []corev1.Pod) bool {
	for _, p := range pods {
		for _, o := range others {
			if p.UID == o.UID {
				return true
			}
		}
	}
	return false
}
