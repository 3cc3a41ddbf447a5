package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestControllerDeleted: Cardea's pod is deleted. The next one finds everything as it should be: it sends no proxy a
// resource and writes no status, and then it does what it is for: of an edit it writes one status, and nothing that was
// put off comes after.
func TestControllerDeleted(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	s.alone()
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	s.deletePod(s.controller())
	s.controller()
	s.until("the proxy is connected", func() (string, bool) {
		n := s.figures().Sum("cardea_xds_streams")
		return fmt.Sprint(n), n >= 1
	})
	s.until("the proxy has acknowledged", func() (string, bool) {
		n := s.figures().Sum("cardea_xds_acks_total")
		return fmt.Sprint(n), n >= 1
	})
	f := s.figures()
	for _, name := range []string{"cardea_xds_resources_total", "cardea_xds_nacks_total"} {
		if n := f.Sum(name); n != 0 {
			t.Errorf("%s is %v after a restart, want 0", name, n)
		}
	}
	if n := f.Sum("cardea_status_writes_total", `result="written"`); n != 0 {
		t.Errorf("%v statuses were written after a restart, want none: %v", n, writes(f))
	}
	if n := f.Sum("cardea_deploy_applies_total", `result="changed"`); n != 0 {
		t.Errorf("%v objects were changed after a restart, want none", n)
	}
	s.sentTo("green", address)
	still := 0
	s.until("no status waits to be written", func() (string, bool) {
		f = s.figures()
		if still++; f.Sum("cardea_status_queue") != 0 {
			still = 0
		}
		return fmt.Sprint(f.Sum("cardea_status_queue")), still > 5 // what has left the queue has been written by then
	})
	all, edits := f.Sum("cardea_status_writes_total", `result="written"`),
		f.Sum("cardea_status_writes_total", `kind="HTTPRoute"`, `result="written"`)
	if all != 1 || edits != 1 {
		t.Errorf("one route was edited: %v statuses were written, %v of them of routes: %v", all, edits, writes(f))
	}
	if n := f.Sum("cardea_deploy_applies_total", `result="changed"`); n != 0 {
		t.Errorf("%v objects were changed after a restart, want none", n)
	}
	calls.flawless()
}

// TestControllerKilledInMidWrite: Cardea is killed while it writes the statuses of many routes. Proxies serve on, all
// the routes that they had; what was not served yet is served by the next Cardea, and all statuses are true.
func TestControllerKilledInMidWrite(t *testing.T) {
	const routes = 300
	s := newStage(t)
	address := s.shop("edge")
	controller := s.controller()
	hosts := s.routes("edge", "early", 50)
	s.attached("edge", 51)
	calls := s.traffic(100, address, by("blue"), append(hosts, "shop.example")...)
	restarts := controller.Status.ContainerStatuses[0].RestartCount

	made := make(chan []string)
	go func() { made <- s.routes("edge", "late", routes) }()
	s.until("some statuses are written", func() (string, bool) {
		n := s.liveCount("late-")
		return fmt.Sprint(n), n > routes/10
	})
	s.kill(controller)
	if n := s.liveCount("late-"); n >= routes {
		t.Error("it was not killed in mid-write")
	} else {
		s.step("%d of %d statuses were written", n, routes)
	}
	late := <-made
	s.step("all routes are there")
	s.until("all routes are live", func() (string, bool) {
		n := s.liveCount("late-")
		return fmt.Sprint(n), n == routes
	})
	s.step("all statuses are written")
	s.attached("edge", 51+routes)
	for _, host := range late[routes-10:] {
		s.gets(address, host, "/", by("blue"))
	}
	if now := s.controller().Status.ContainerStatuses[0].RestartCount; now != restarts+1 {
		t.Errorf("it was started %d times, want once", now-restarts)
	}
	calls.flawless()
}

// TestControllerKilledWhileGatewaysComeAndGo: Cardea is killed while it makes what Gateways need, and while it takes it
// away again. All of them serve, and then nothing of them is left.
func TestControllerKilledWhileGatewaysComeAndGo(t *testing.T) {
	const n = 6
	s := newStage(t)
	calls := s.traffic(100, s.shop("edge"), by("blue"), "shop.example")
	var names []string
	var objects string
	for i := range n {
		name := fmt.Sprintf("gateway-%d", i)
		names = append(names, name)
		objects += gateway(s.namespace, name, small) + route(s.namespace, name, name, "shop.example", "blue")
	}
	ctx := context.Background()
	made := func() (count int) {
		s.Helper()
		others := metav1.ListOptions{LabelSelector: gatewayv1.GatewayNameLabelKey + "!=edge," + managed}
		list, err := s.Client.AppsV1().Deployments(s.namespace).List(ctx, others)
		if err != nil {
			s.Fatal(err)
		}
		return len(list.Items)
	}
	controller := s.controller()
	s.apply(dataPlane(s.namespace, "small", "{pod: {drainSeconds: 1}}"))
	applied := make(chan error)
	go func() { applied <- s.Apply(ctx, []byte(objects)) }()
	s.until("the first is made", func() (string, bool) { return "", made() > 0 })
	s.kill(controller)
	s.step("%d of %d were made", made(), n)
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		s.gets(s.address(name), "shop.example", "/", by("blue"))
	}
	s.live(names...)
	s.step("all serve")

	controller = s.controller()
	gateways := s.api.GatewayV1().Gateways(s.namespace)
	for _, name := range names {
		if err := gateways.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.kill(controller)
	s.step("%d of %d are left", made(), n)
	s.until("nothing is left of them", func() (string, bool) {
		list, err := gateways.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(len(list.Items), made()), len(list.Items) == 1 && made() == 0
	})
	s.live("web")
	calls.flawless()
}

// TestStartWithoutAPIServer: Cardea is started again while the API server is away. It is not ready and tells proxies
// nothing, so they go on, until it knows all.
func TestStartWithoutAPIServer(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	controller := s.controller()
	s.step("the API server goes")
	s.StopAPIServer()
	s.kill(controller)
	probe := &http.Client{Timeout: time.Second}
	s.until("Cardea says that it is not ready", func() (string, bool) {
		response, err := probe.Get("http://" + controller.Status.PodIP + ":9901/readyz")
		if err != nil {
			return err.Error(), false
		}
		defer response.Body.Close()
		return response.Status, response.StatusCode == http.StatusServiceUnavailable
	})
	s.step("Cardea runs again and is not ready")
	calls.moves(300)
	if err := s.StartAPIServer(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.step("the API server is back")
	s.sentTo("green", address)
	s.step("the edit is served")
	calls.flawless()
}
