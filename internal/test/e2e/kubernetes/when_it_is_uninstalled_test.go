package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/test/testcert"
)

// TestUninstall does what docs/kubernetes.md says, in order, and then what it says for those who did it in another
// order. It stands in the last file, for what it takes away the other tests need; it puts it back. A newer CRD of
// another project, with an object, is there all the time, and stays as it is.
func TestUninstall(t *testing.T) {
	s := newShell(newStage(t))
	ctx := context.Background()
	again := func() {
		t.Helper()
		s.until("Cardea is installed", func() (string, bool) { // what is on its way out takes nothing new
			err := s.ApplyFiles(ctx, "../../../../deploy/install.yaml")
			return fmt.Sprint(err), err == nil
		})
	}
	t.Cleanup(again)
	blocks := s.blocks("docs/kubernetes.md", "Uninstall")
	s.until("the other tests' Gateways are gone", func() (string, bool) {
		list, err := s.api.GatewayV1().Gateways("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		var left []string
		for _, g := range list.Items {
			ns, err := s.Client.CoreV1().Namespaces().Get(ctx, g.Namespace, metav1.GetOptions{})
			left = append(left, fmt.Sprintf("%s/%s of class %s, finalizers %v, deleted at %v; namespace %+v, deleted at %v, %v",
				g.Namespace, g.Name, g.Spec.GatewayClassName, g.Finalizers, g.DeletionTimestamp,
				ns.Status, ns.DeletionTimestamp, err))
		}
		return strings.Join(left, "; "), len(left) == 0
	})
	theirs := s.newerPools()
	s.step("install and upgrade")
	for range 2 {
		s.play(s.blocks("docs/kubernetes.md", "CRDs of other projects")[0])
		s.quick("kubectl apply -f deploy/install.yaml")
	}
	theirs.unchanged()
	s.example("first-gateway.yaml")
	s.address("first")
	s.play(blocks[0])
	s.nothingMade("first")
	theirs.unchanged()

	s.withoutSecrets()
	s.step("the controller goes first, and policies stay")
	s.apply(`{apiVersion: cardea.dev/v1alpha1, kind: TrafficPolicy, ` +
		`metadata: {name: kept, namespace: ` + s.namespace + `}, ` +
		`spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: first}], timeouts: {request: 7s}}}`)
	kept := s.quick(policies)
	line, _, _ := strings.Cut(strings.TrimPrefix(blocks[1], "$ "), "\n")
	s.quick(line + " --wait=false --ignore-not-found") // nobody is there who removes the class's finalizer
	s.until("Cardea is gone", func() (string, bool) {
		_, err := s.Client.CoreV1().Namespaces().Get(ctx, "cardea-system", metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
	s.quick("kubectl delete --wait=false gateway first")
	s.play(blocks[2])
	s.nothingMade("first")
	s.until("the class is gone", func() (string, bool) {
		_, err := s.api.GatewayV1().GatewayClasses().Get(ctx, "cardea", metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
	theirs.unchanged()
	if left := s.quick(policies); kept == "" || left != kept {
		t.Fatalf("of the policies %q are left, want %q", left, kept)
	}
}

// policies lists a kind of Cardea's own: objects, and by its success the CRD.
const policies = "kubectl get trafficpolicy -o jsonpath='{range .items[*]}{.metadata.uid}{.spec}{end}'"

// quick runs a line that must succeed.
func (s shell) quick(line string) string {
	s.Helper()
	s.step("$ %s", line)
	out, err := s.run(line)
	if err != nil {
		s.Fatal(out, err)
	}
	return out
}

// pools is the CRD of InferencePools as another project has installed it, with an object.
type pools struct {
	shell
	was string
}

// newerPools makes the CRD newer than what Cardea has of it, until the test ends.
func (s shell) newerPools() pools {
	s.Helper()
	const crd = "crd inferencepools.inference.networking.k8s.io"
	s.Cleanup(func() {
		if err := s.ApplyFiles(context.Background(), thirdPartyCRDs); err != nil {
			s.Error(err)
		}
	})
	s.quick("kubectl patch " + crd + ` --type=json -p '[{"op": "add", "path": ` +
		`"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/flavour", "value": {"type": "string"}}]'`)
	s.until("a pool keeps its new field", func() (string, bool) {
		pool := inferencePool(s.namespace, "theirs", "models", []int{8000}, ", flavour: sweet")
		if err := s.Apply(context.Background(), []byte(pool)); err != nil {
			return err.Error(), false // the API server has the old schema for a moment
		}
		out, err := s.run("kubectl get inferencepool theirs -o jsonpath='{.spec.flavour}'")
		return out + fmt.Sprint(err), out == "sweet"
	})
	p := pools{shell: s}
	p.was = p.is()
	return p
}

// is tells one CRD and pool from others, and their versions.
func (p pools) is() string {
	p.Helper()
	const version = "{.metadata.uid} {.metadata.generation}"
	return p.quick("kubectl get crd inferencepools.inference.networking.k8s.io -o jsonpath='"+version+"'") +
		p.quick("kubectl get inferencepool theirs -o jsonpath=' "+version+" {.spec}'")
}

func (p pools) unchanged() {
	p.Helper()
	if is := p.is(); is != p.was || !strings.Contains(is, "sweet") {
		p.Fatalf("CRD and pool are %s, and were %s", is, p.was)
	}
}

// withoutSecrets installs Cardea as docs/kubernetes.md says for those who don't let it read all Secrets: what needs
// none is served, and the certificate of a Gateway is as soon as its namespace lets Cardea read Secrets.
func (s shell) withoutSecrets() {
	s.Helper()
	blocks := s.blocks("docs/kubernetes.md", "Without the right to read all Secrets")
	s.until("Cardea is installed", func() (string, bool) { // what is on its way out takes nothing new
		out, err := s.run("kubectl apply -f deploy/install.yaml -l 'cardea.dev/permission!=secrets'")
		return out + fmt.Sprint(err), err == nil
	})
	s.play(blocks[0])
	s.example("first-gateway.yaml")
	address := s.address("first")
	s.gets(address, "any.example", "/hello", func(a answer) bool { return a.Status == 200 })
	s.apply(secret(s.namespace, "cert", "kubernetes.io/tls", testcert.SelfSigned("secure.example").SecretData()))
	s.quick(`kubectl patch gateway first --type=json -p '[{"op": "add", "path": "/spec/listeners/-", "value": ` +
		`{"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert"}]}}}]'`)
	const message = `kubectl get gateway first -o jsonpath='{.status.listeners[?(@.name=="https")]` +
		`.conditions[?(@.type=="Programmed")].message}'`
	want := "kubectl create rolebinding cardea-secrets -n " + s.namespace + " --clusterrole=cardea-secrets " +
		"--serviceaccount=cardea-system:cardea"
	s.until("the listener says what to permit", func() (string, bool) {
		out, err := s.run(message)
		return out, err == nil && strings.Contains(out, want)
	})
	s.gets(address, "any.example", "/again", func(a answer) bool { return a.Status == 200 })
	s.play(blocks[1])
	s.until("the listener is served", func() (string, bool) {
		out, err := s.run(message)
		return out, err == nil && out == "the proxies have acknowledged it"
	})
}

// nothingMade waits until a Gateway is gone, and what was made for it.
func (s shell) nothingMade(name string) {
	s.Helper()
	s.until("nothing is left of Gateway "+name, func() (string, bool) {
		out, err := s.run(
			"kubectl get gateway,deployment,service,configmap,serviceaccount -l gateway.networking.k8s.io/gateway-name=" + name +
				" -o name",
		)
		_, gone := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), name, metav1.GetOptions{})
		return out + fmt.Sprint(err, gone), err == nil && out == "" && apierrors.IsNotFound(gone)
	})
}
