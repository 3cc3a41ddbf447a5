package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cardea.dev/cardea/internal/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// waitTimeout is how long a test waits for what must happen. It is a bound for broken programs, not a measure.
const waitTimeout = 60 * time.Second

// shared is the cluster of all tests that leave it as it was. It ends with the process.
var shared = sync.OnceValues(func() (*cluster.Cluster, error) {
	o := cluster.Options{Images: map[string]cluster.Program{
		"shell": {Entrypoint: []string{"sh", "-c"}}, // what every container sees of this machine is enough for it
	}}
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return cluster.Up(context.Background(), o)
})

// place is a namespace of its own in the shared cluster.
type place struct {
	*cluster.Cluster
	t         *testing.T
	namespace string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	cluster.Require(t)
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Client.CoreV1().Namespaces().
		Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{c, t, made.Name}
	t.Cleanup(func() {
		if err := c.Client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	// Pods are refused until the namespace has its service account.
	p.eventually(func() error {
		_, err := c.Client.CoreV1().ServiceAccounts(p.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return p
}

// eventually asks until the answer is nil, and fails the test with the last answer.
func (p *place) eventually(ask func() error) {
	p.t.Helper()
	var last error
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if last = ask(); last == nil {
			return
		}
	}
	p.t.Fatalf("it did not happen: %v", last)
}

// pod makes a pod that runs a script, changed as the test wants it.
func (p *place) pod(name, script string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p.t.Helper()
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "shell", Args: []string{script}}}},
	}
	for _, change := range changes {
		change(object)
	}
	made, err := p.Client.CoreV1().Pods(p.namespace).Create(p.t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return made
}

// echo changes a pod to the echo server.
func echo(object *corev1.Pod) {
	c := &object.Spec.Containers[0]
	c.Image, c.Args = "registry.example.com/"+cluster.EchoImage+":v0.1.0", nil
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "POD_NAME", ValueFrom: field("metadata.name")},
		corev1.EnvVar{Name: "NAMESPACE", ValueFrom: field("metadata.namespace")})
}

func field(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}

// until waits for a pod to be as wanted, and returns it.
func (p *place) until(name string, is func(*corev1.Pod) bool) *corev1.Pod {
	p.t.Helper()
	var found *corev1.Pod
	p.eventually(func() (err error) {
		if found, err = p.Client.CoreV1().Pods(p.namespace).Get(p.t.Context(), name, metav1.GetOptions{}); err == nil &&
			!is(found) {
			err = fmt.Errorf("pod %s: %+v", name, found.Status)
		}
		return err
	})
	return found
}

func ready(object *corev1.Pod) bool {
	for _, c := range object.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// service makes a Service for the pods with the label app=name.
func (p *place) service(name string, kind corev1.ServiceType, ports ...corev1.ServicePort) *corev1.Service {
	p.t.Helper()
	made, err := p.Client.CoreV1().Services(p.namespace).Create(p.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: kind, Selector: map[string]string{"app": name}, Ports: ports},
	}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return made
}

// get makes a request on a connection of its own.
func get(address string) (string, error) {
	client := http.Client{Timeout: waitTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// answers waits until an address answers with a text.
func (p *place) answers(address, text string) {
	p.t.Helper()
	p.eventually(func() error {
		body, err := get(address)
		if err == nil && !strings.Contains(body, text) {
			err = errors.New(body)
		}
		return err
	})
}

// TestDeployment reaches a Deployment by each of its addresses.
func TestDeployment(t *testing.T) {
	p := newPlace(t)
	labels := map[string]string{"app": "echo"}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	echo(pod)
	replicas := int32(2)
	_, err := p.Client.AppsV1().Deployments(p.namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "echo"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.service("echo", corev1.ServiceTypeLoadBalancer, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(3000)})
	var list *corev1.PodList
	p.eventually(func() (err error) {
		list, err = p.Client.CoreV1().Pods(p.namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && (len(list.Items) != 2 || !ready(&list.Items[0]) || !ready(&list.Items[1])) {
			err = fmt.Errorf("%+v", list.Items)
		}
		return err
	})
	var service *corev1.Service
	p.eventually(func() (err error) {
		service, err = p.Client.CoreV1().Services(p.namespace).Get(t.Context(), "echo", metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("it has no address")
		}
		return err
	})
	for _, pod := range list.Items {
		p.answers(pod.Status.PodIP+":3000", pod.Name)
		p.answers(service.Spec.ClusterIP, pod.Name)
		p.answers(service.Status.LoadBalancer.Ingress[0].IP, pod.Name)
		p.answers("echo."+p.namespace+".svc.cluster.local", pod.Name)
	}
}
