package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// TestRouteDefinitionDeleted: the CRD of HTTPRoutes is deleted, and with it all routes. What has no route any more is
// answered with 404; the Gateway stays. The CRD and a route are put back, and are served without a restart.
func TestRouteDefinitionDeleted(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	was := s.controller()
	calls := s.traffic(100, address, func(a answer) bool { return by("blue")(a) || a.Status == http.StatusNotFound },
		"shop.example")
	s.deleteDefinition("httproutes.gateway.networking.k8s.io")
	s.gets(address, "shop.example", "/", func(a answer) bool { return a.Status == http.StatusNotFound })
	s.attached("edge", 0)
	s.step("the routes are gone")
	s.define()
	s.apply(route(s.namespace, "web", "edge", "shop.example", "blue"))
	s.gets(address, "shop.example", "/", by("blue"))
	s.live("web")
	s.attached("edge", 1)
	s.step("the route is back")
	s.address("edge")
	s.sameController(was)
	calls.flawless()
}

// TestOptionalDefinitionsDeleted: the CRDs of XBackends and DataPlanes are deleted while they are used, and that of
// InferencePools. All else goes on, also when Cardea is started without them, and the GatewayClass says what is absent;
// when they are back they are used without a restart.
func TestOptionalDefinitionsDeleted(t *testing.T) {
	s := newStage(t)
	address := s.fleet("edge", "{replicas: 2}")
	s.apply(xbackend(s.namespace, "far", "green") + xroute(s.namespace, "far", "edge", "far.example", "far"))
	s.gets(address, "far.example", "/", by("green"))
	s.ready(s.namespace, proxiesOf("edge"), 2)
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	s.deleteDefinition("xbackends.gateway.networking.x-k8s.io")
	s.deleteDefinition("dataplanes.cardea.dev")
	s.deleteDefinition("inferencepools.inference.networking.k8s.io")
	absent := []string{
		"not installed: inferencepools.inference.networking.k8s.io (kubectl create -f deploy/third-party-crds.yaml)",
		"not installed: dataplanes.cardea.dev (",
	}
	s.definitionsAre(metav1.ConditionFalse, absent...)
	s.routeIs("far", "ResolvedRefs=False BackendNotFound")
	s.gets(address, "far.example", "/", func(a answer) bool { return a.Status == http.StatusInternalServerError })
	s.sentTo("green", address)
	s.step("without them an edit is served")
	s.deletePod(s.controller())
	s.sentTo("blue", address)
	s.step("a new Cardea does without them")
	s.definitionsAre(metav1.ConditionFalse, absent...)
	was := s.controller()
	s.define()
	s.definitionsAre(metav1.ConditionTrue)
	s.apply(xbackend(s.namespace, "far", "blue") +
		dataPlane(s.namespace, "edge", "{replicas: 1, logLevel: info, pod: {drainSeconds: 2}}"))
	s.gets(address, "far.example", "/", by("blue"))
	s.live("web", "far")
	s.until("the DataPlane counts", func() (string, bool) {
		d := s.deployment("edge")
		return statusText(d.Status), settled(d, 1)
	})
	s.step("with them they are used")
	s.address("edge")
	s.sameController(was)
	calls.flawless()
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// deleteDefinition deletes a CRD, and returns when it is gone with all its objects. The test puts it back in the end.
func (s *stage) deleteDefinition(name string) {
	s.Helper()
	s.step("the CRD %s is deleted", name)
	client, err := metadata.NewForConfig(s.Config)
	if err == nil {
		err = client.Resource(definitions).Delete(context.Background(), name, metav1.DeleteOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(s.define)
	s.until("the CRD "+name+" is gone", func() (string, bool) {
		_, err := client.Resource(definitions).Get(context.Background(), name, metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
}

// definitionsAre waits until the GatewayClass says whether all CRDs are installed, with these texts.
func (s *stage) definitionsAre(want metav1.ConditionStatus, texts ...string) {
	s.Helper()
	s.until("the GatewayClass says which CRDs are absent", func() (string, bool) {
		class, err := s.api.GatewayV1().GatewayClasses().Get(context.Background(), "cardea", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		is := meta.FindStatusCondition(class.Status.Conditions, "cardea.dev/CRDsInstalled")
		if is == nil {
			return statusText(class.Status), false
		}
		for _, text := range texts {
			if !strings.Contains(is.Message, text) {
				return is.Message, false
			}
		}
		return statusText(is), is.Status == want
	})
}

// define installs all CRDs.
func (s *stage) define() {
	s.Helper()
	err := s.InstallGatewayAPI(context.Background(), "experimental")
	if err == nil {
		err = s.ApplyFiles(context.Background(), "../../../../api/v1alpha1/cardea.dev_dataplanes.yaml", thirdPartyCRDs)
	}
	if err != nil {
		s.Fatal(err)
	}
}
