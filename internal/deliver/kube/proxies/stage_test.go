package proxies_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/typed/apis/v1"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/files"
	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/kubetest"
	"cardea.dev/cardea/internal/translate/gateway"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// waitTimeout is how long a test waits for an event that must come: a limit for broken programs, not a measurement.
const waitTimeout = 90 * time.Second

const (
	image   = "envoy:test"
	system  = "cardea-system" // the namespace where the xDS server is
	xdsHost = "cardea." + system + ".svc"
	xdsPort = 18000

	audience = "cardea.dev/xds"
)

// stage is a cluster with a Deployer at work, an authority and an xDS server. The plan is the tests' to write.
type stage struct {
	*kubetest.Cluster
	gateways   *gatewayclient.GatewayV1Client
	graph      *flow.Graph
	classes    *flow.Source[model.ObjectRef, plan.ClassState]
	proxies    *flow.Source[model.ObjectRef, plan.ProxySpec]
	selections *flow.Source[model.ObjectRef, plan.PodSelector]
	fronts     *flow.Source[model.ObjectRef, model.Front]
	metrics    *prometheus.Registry
	authority  *certs.Authority
	xds        *xdsServer
	deployer   *proxies.Deployer

	mu     sync.Mutex
	files  map[model.ObjectRef]int // how often somebody changed files
	extra  []byte                  // more in the CA bundle
	more   chan struct{}           // closed when it changes
	events []proxies.Event
}

// shared is the stage of all tests. It ends with the process.
var shared = sync.OnceValues(newStage)

func newStage() (*stage, error) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	s := &stage{metrics: prometheus.NewRegistry(), more: make(chan struct{}), files: map[model.ObjectRef]int{}}
	if s.Cluster, err = kubetest.Up(ctx, kubetest.Options{Images: map[string]kubetest.Program{
		"envoy": {Files: map[string]string{"/usr/local/bin/envoy": binary}, Entrypoint: []string{"envoy"}},
	}, Verbose: testing.Verbose()}); err != nil {
		return nil, err
	}
	if err := s.InstallGatewayAPI(ctx, "experimental"); err != nil {
		return nil, err
	}
	if s.gateways, err = gatewayclient.NewForConfig(s.Config); err != nil {
		return nil, err
	}
	if err := s.serveXDS(ctx); err != nil {
		return nil, err
	}
	s.graph = flow.New(flow.Config{Name: "test", Check: true})
	s.classes = flow.NewSource[model.ObjectRef, plan.ClassState](s.graph, "classes")
	s.proxies = flow.NewSource[model.ObjectRef, plan.ProxySpec](s.graph, "proxies")
	s.selections = flow.NewSource[model.ObjectRef, plan.PodSelector](s.graph, "selections")
	s.fronts = flow.NewSource[model.ObjectRef, model.Front](s.graph, "fronts")
	s.graph.Apply("test", func(b *flow.Batch) {
		s.classes.MarkSynced(b)
		s.proxies.MarkSynced(b)
		s.selections.MarkSynced(b)
		s.fronts.MarkSynced(b)
	})
	if err := s.permit(ctx); err != nil {
		return nil, err
	}
	d, err := proxies.New(s.config())
	if err != nil {
		return nil, err
	}
	s.deployer = d
	go func() { _ = s.graph.Run(ctx) }()
	go func() { _ = d.Run(ctx) }()
	return s, nil
}

// The users that have just the rights that they ask for.
const deployUser, certsUser = "deploy", "certs"

// permit gives them.
func (s *stage) permit(ctx context.Context) error {
	const group = rbacv1.GroupName
	meta := metav1.ObjectMeta{Name: deployUser}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: slices.Concat(proxies.Rules(), proxies.SecretRules())}
	if _, err := s.Client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := s.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "ClusterRole", Name: deployUser},
		Subjects: []rbacv1.Subject{{APIGroup: group, Kind: rbacv1.UserKind, Name: deployUser}},
	}, metav1.CreateOptions{})
	return err
}

// permitCerts gives the authority its rights.
func (s *stage) permitCerts(ctx context.Context, secret string) error {
	const group = rbacv1.GroupName
	meta := metav1.ObjectMeta{Name: certsUser}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: certs.Rules(secret)}
	if _, err := s.Client.RbacV1().Roles(system).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := s.Client.RbacV1().RoleBindings(system).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: group, Kind: "Role", Name: certsUser},
		Subjects: []rbacv1.Subject{{APIGroup: group, Kind: rbacv1.UserKind, Name: certsUser}},
	}, metav1.CreateOptions{})
	return err
}

// as is a connection of one of them.
func (s *stage) as(user string) *rest.Config {
	c := rest.CopyConfig(s.Config)
	c.Impersonate.UserName = user
	return c
}

func (s *stage) config() proxies.Config {
	return proxies.Config{
		REST: s.as(deployUser), Graph: s.graph, Classes: s.classes.Collection(), Proxies: s.proxies.Collection(),
		Selections: s.selections.Collection(), Fronts: s.fronts,
		Dialect: func(name string) dataplane.Dialect {
			if d := files.Dialect(); d.Name.Name == name {
				return d
			}
			return envoy.Dialect()
		},
		Bundle: s.bundle, Key: s.authority.Key,
		FilesChanged: func(ref model.ObjectRef) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.files[ref]++
		},
		Settings: proxies.Settings{
			Image: image, XDSHost: xdsHost, XDSPort: xdsPort, Audience: audience,
			EgressExcept: []netip.Prefix{netip.MustParsePrefix("169.254.0.0/16")},
		},
		Log: logger("deploy"), Metrics: s.metrics, Events: s.note,
	}
}

func logger(part string) *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})).With("of", part)
}

// bundle is the authority's, and what a test adds.
func (s *stage) bundle() ([]byte, <-chan struct{}) {
	text, _ := s.authority.Bundle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(text, s.extra), s.more
}

func (s *stage) addToBundle(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = append(s.extra, text...)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *stage) note(e proxies.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// serveXDS serves the proxies, behind a Service as a controller does.
func (s *stage) serveXDS(ctx context.Context) (err error) {
	if _, err := s.Client.CoreV1().Namespaces().
		Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	const secret = "cardea-xds"
	if err := s.permitCerts(ctx, secret); err != nil {
		return err
	}
	s.authority, err = certs.New(certs.Config{REST: s.as(certsUser), Namespace: system, Name: secret,
		DNSNames: []string{xdsHost}})
	if err != nil {
		return err
	}
	go func() { _ = s.authority.Run(ctx) }()
	select {
	case <-s.authority.WhenLoaded():
	case <-time.After(waitTimeout):
		return errors.New("the authority has no certificate")
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("%v:%d", kubetest.NodeAddress, xdsPort))
	if err != nil {
		return err
	}
	s.xds = &xdsServer{client: s.Client, users: map[string]int{}}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(s.authority.ServerConfig())))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s.xds)
	go func() { _ = server.Serve(listener) }()

	port := corev1.ServicePort{Name: "xds", Port: xdsPort, TargetPort: intstr.FromInt32(xdsPort)}
	if _, err = s.Client.CoreV1().Services(system).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "cardea"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{port}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	number := int32(xdsPort)
	_, err = s.Client.DiscoveryV1().EndpointSlices(system).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "cardea", Labels: map[string]string{discoveryv1.LabelServiceName: "cardea"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{kubetest.NodeAddress.String()}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &port.Name, Port: &number}},
	}, metav1.CreateOptions{})
	return err
}

// place is a namespace of its own with one Gateway.
type place struct {
	*stage
	t         *testing.T
	namespace string
	ref       model.ObjectRef
	proxy     plan.ProxySpec // as the plan has it
}

func newPlace(t *testing.T) *place {
	t.Helper()
	kubetest.Require(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	strict := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	made, err := s.Client.CoreV1().Namespaces().
		Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: strict}},
			metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{stage: s, t: t, namespace: made.Name, ref: model.Ref(model.KindGateway, made.Name, "web")}
	t.Cleanup(func() {
		p.t = t
		p.finish()
		err := s.Client.CoreV1().Namespaces().Delete(context.Background(), p.namespace, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	object, err := s.gateways.Gateways(p.namespace).Create(t.Context(), &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: p.ref.Name()},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: gatewayv1.ObjectName(p.namespace),
			Listeners:        []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.proxy = plan.ProxySpec{
		UID: string(object.UID), Name: gateway.ProxyName(p.ref), Accepted: true,
		Ports:      []plan.ProxyPort{{Number: 80, Bind: 80, Transport: model.TransportTCP}},
		Parameters: parameters(t),
	}
	return p
}

// plan makes the proxy what the plan says.
func (p *place) plan(change func(*plan.ProxySpec)) {
	if change != nil {
		change(&p.proxy)
	}
	proxy := p.proxy
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Set(b, p.ref, proxy) })
}

// finish deletes the Gateway, and waits until it is gone.
func (p *place) finish() {
	p.t.Helper()
	err := p.gateways.Gateways(p.namespace).Delete(context.Background(), p.ref.Name(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		p.t.Error(err)
	}
	p.plan(func(x *plan.ProxySpec) { x.Deleting = true })
	p.awaitGone()
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Delete(b, p.ref) })
}

// awaitGone waits until the Gateway is gone.
func (p *place) awaitGone() {
	p.t.Helper()
	p.eventually(func() error {
		_, err := p.gateways.Gateways(p.namespace).Get(context.Background(), p.ref.Name(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the Gateway is there still"))
	})
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
	p.t.Fatal(last)
}

// front is the front of the place; looked is false if there is none: not computed yet, or dropped.
func (p *place) front() (f model.Front, looked bool) {
	p.graph.View(func(v flow.View) { f, looked = flow.Get(v, p.fronts.Collection(), p.ref) })
	return f, looked
}

// frontIs waits for a front.
func (p *place) frontIs(is func(model.Front) bool) model.Front {
	p.t.Helper()
	var f model.Front
	p.eventually(func() error {
		var looked bool
		if f, looked = p.front(); !looked || !is(f) {
			return fmt.Errorf("the front is %+v, looked at: %v", f, looked)
		}
		return nil
	})
	return f
}

func (p *place) deployment() (*appsv1.Deployment, error) {
	return p.Client.AppsV1().Deployments(p.namespace).Get(context.Background(), p.proxy.Name, metav1.GetOptions{})
}

func (p *place) service() (*corev1.Service, error) {
	return p.Client.CoreV1().Services(p.namespace).Get(context.Background(), p.proxy.Name, metav1.GetOptions{})
}

func (p *place) configMap() (*corev1.ConfigMap, error) {
	return p.Client.CoreV1().ConfigMaps(p.namespace).Get(context.Background(), p.proxy.Name, metav1.GetOptions{})
}

func (p *place) serviceAccount() (*corev1.ServiceAccount, error) {
	return p.Client.CoreV1().ServiceAccounts(p.namespace).Get(context.Background(), p.proxy.Name, metav1.GetOptions{})
}

// pods waits until n pods are ready, and no other is there.
func (p *place) pods(n int) []corev1.Pod {
	p.t.Helper()
	var list *corev1.PodList
	p.eventually(func() (err error) {
		list, err = p.Client.CoreV1().Pods(p.namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range list.Items {
			if !ready(&pod) || pod.DeletionTimestamp != nil {
				err = fmt.Errorf("pod %s: %+v", pod.Name, pod.Status)
			}
		}
		if len(list.Items) != n {
			err = fmt.Errorf("%d pods, want %d; %v", len(list.Items), n, err)
		}
		return err
	})
	return list.Items
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
