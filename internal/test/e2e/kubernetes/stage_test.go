package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == pickerCommand {
		fmt.Fprintln(os.Stderr, runPicker(os.Args[2], os.Args[3:]...))
		os.Exit(1)
	}
	kubetest.Main(leftovers{m})
}

// leftovers ends what the tests share when they are done.
type leftovers struct{ m *testing.M }

func (l leftovers) Run() int {
	defer func() {
		if shared.cluster != nil {
			shared.cluster.Stop()
		}
		if shared.dir != "" {
			_ = os.RemoveAll(shared.dir)
		}
	}()
	return l.m.Run()
}

// shared is the one cluster of this package, with Cardea in it.
var shared struct {
	once    sync.Once
	err     error
	dir     string
	cluster *kubetest.Cluster
	api     *versioned.Clientset
}

// waitTimeout is how long anything may take before it counts as not happening.
const waitTimeout = 90 * time.Second

// stage is the shared cluster and a namespace of the test's own.
type stage struct {
	*kubetest.Cluster
	*testing.T
	api       *versioned.Clientset
	namespace string
}

// testLabel is on the namespaces of all tests.
const testLabel = "cardea.dev/test"

func newStage(t *testing.T) *stage {
	t.Helper()
	return stageIn(t, "test-"+fmt.Sprint(time.Now().UnixNano()))
}

// stageIn is a stage with a namespace of that name, which the test makes.
func stageIn(t *testing.T, namespace string) *stage {
	t.Helper()
	kubetest.Require(t)
	shared.once.Do(func() { shared.err = install(context.Background()) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	s := &stage{T: t, Cluster: shared.cluster, api: shared.api, namespace: namespace}
	s.until("nothing is left of a namespace of that name", func() (string, bool) {
		_, err := s.Client.CoreV1().Namespaces().Get(context.Background(), namespace, metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
	s.apply(fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {%s: \"\"}}\n", s.namespace,
		testLabel))
	t.Cleanup(func() { // a test may have left the API server on its way up
		s.until("the test's namespace is deleted", func() (string, bool) {
			// The namespace controller deletes objects of the kinds that discovery lists. A CRD's kind may be missing there
			// soon after its installation; then its objects outlive their namespace.
			err := s.api.GatewayV1().Gateways(s.namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{},
				metav1.ListOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err.Error(), false
			}
			err = s.Client.CoreV1().Namespaces().Delete(context.Background(), s.namespace, metav1.DeleteOptions{})
			return fmt.Sprint(err), err == nil || apierrors.IsNotFound(err)
		})
	})
	return s
}

// thirdPartyCRDs is the file with the CRDs of other projects.
const thirdPartyCRDs = "../../../../deploy/third-party-crds.yaml"

// install does what docs/kubernetes.md says: the CRDs of the Gateway API and of others, then deploy/install.yaml.
func install(ctx context.Context) (err error) {
	if shared.dir, err = os.MkdirTemp("", "cardea-kubernetes-"); err != nil {
		return err
	}
	cardea := filepath.Join(shared.dir, "cardea")
	if out, err := exec.Command("go", "build", "-o", cardea, "cardea.dev/cardea/cmd/cardea").CombinedOutput(); err != nil {
		return fmt.Errorf("build cardea: %w\n%s", err, out)
	}
	agents := filepath.Join(shared.dir, "agents")
	build := exec.Command("go", "build", "-C", "../../../../examples/agents/mcp", "-o", agents, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the image of examples/kubernetes/agents.yaml: %w\n%s", err, out)
	}
	modelserver := filepath.Join(shared.dir, "modelserver")
	build = exec.Command("go", "build", "-o", modelserver, "cardea.dev/cardea/examples/inference/modelserver")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the image of examples/kubernetes/inference.yaml: %w\n%s", err, out)
	}
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		return err
	}
	image := func(path string) kubetest.Program {
		inside := "/usr/local/bin/" + filepath.Base(path)
		return kubetest.Program{Files: map[string]string{inside: path}, Entrypoint: []string{inside}}
	}
	shared.cluster, err = kubetest.Up(ctx, kubetest.Options{Images: map[string]kubetest.Program{
		"cardea": image(cardea), "envoyproxy/envoy": image(binary), "agents": image(agents),
		"modelserver": image(modelserver),
	}})
	if err != nil {
		return err
	}
	if shared.api, err = versioned.NewForConfig(shared.cluster.Config); err != nil {
		return err
	}
	if err := shared.cluster.InstallGatewayAPI(ctx, "experimental"); err != nil {
		return err
	}
	if err := shared.cluster.ApplyFiles(ctx, thirdPartyCRDs); err != nil {
		return err
	}
	return hasten(ctx, "../../../../deploy/install.yaml")
}

// hasten applies a file with the controller, which is to take a ConfigMap for read by the pods sooner than usual: the
// test cluster brings it to them at once.
func hasten(ctx context.Context, file string) error {
	const usual, hasty = "args: [controller]", "args: [controller, --configmap-sync=1s]"
	text, err := os.ReadFile(file)
	if err == nil && strings.Count(string(text), usual) != 1 {
		err = fmt.Errorf("%s has no %s", file, usual)
	}
	if err != nil {
		return err
	}
	return shared.cluster.Apply(ctx, []byte(strings.Replace(string(text), usual, hasty, 1)))
}

func (s *stage) apply(yaml string) {
	s.Helper()
	if err := s.Apply(context.Background(), []byte(yaml)); err != nil {
		s.Fatal(err)
	}
}

// example applies a file of examples/kubernetes in the test's namespace.
func (s *stage) example(file string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "examples", "kubernetes", file))
	if err != nil {
		s.Fatal(err)
	}
	s.apply(strings.ReplaceAll(string(text), "\nmetadata: {", "\nmetadata: {namespace: "+s.namespace+", "))
}

// until waits for a condition, and says what it saw last if it never holds.
func (s *stage) until(what string, holds func() (saw string, ok bool)) {
	s.Helper()
	var saw string
	var ok bool
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if saw, ok = holds(); ok {
			return
		}
	}
	s.Fatalf("%s: not within %v; last seen: %s", what, waitTimeout, saw)
}

// address waits until a Gateway is programmed, and returns its address.
func (s *stage) address(name string) (address string) {
	s.Helper()
	s.until("Gateway "+name+" is programmed", func() (string, bool) {
		g, err := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		if len(g.Status.Addresses) > 0 {
			address = g.Status.Addresses[0].Value
		}
		programmed := meta.FindStatusCondition(g.Status.Conditions, string(gatewayv1.GatewayConditionProgrammed))
		return statusText(g.Status), address != "" && programmed != nil && programmed.Status == metav1.ConditionTrue &&
			programmed.ObservedGeneration == g.Generation
	})
	return address
}

func statusText(status any) string {
	text, err := json.Marshal(status)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// answer is what a request was answered with.
type answer struct {
	Status   int
	Pod      string // of the echo server
	HTTPPort string // of the echo server, also where the request came to its other port
	Proto    string // "HTTP/2.0"
	Path     string
	Host     string
	Error    string `json:"-"` // what is said where there is no echo
}

// get asks a Gateway once, with headers of these names and values.
func (s *stage) get(address, host, path string, headers ...string) (answer, error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return answer{}, err
	}
	request.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{Status: response.StatusCode}
	if response.StatusCode == http.StatusOK {
		err = json.NewDecoder(response.Body).Decode(&a)
	}
	return a, err
}

var client = &http.Client{Timeout: 10 * time.Second}

// gets waits until a request is answered as it should be.
func (s *stage) gets(address, host, path string, right func(answer) bool) {
	s.Helper()
	s.until(fmt.Sprintf("GET %s%s at %s", host, path, address), func() (string, bool) {
		a, err := s.get(address, host, path)
		return fmt.Sprintf("%+v, %v", a, err), err == nil && right(a)
	})
}
