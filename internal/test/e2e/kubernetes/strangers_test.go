package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStrangers: who asks for a Gateway's configuration with the token of another Gateway, of another namespace's, for
// another audience, with a forged one or none, is refused, counted, and said once. With the Gateway's own it is given.
func TestStrangers(t *testing.T) {
	const audience = "cardea.dev/xds"
	s, other := newStage(t), newStage(t)
	address := s.shop("edge")
	s.apply(gateway(s.namespace, "second"))
	other.apply(gateway(other.namespace, "edge"))
	s.address("second")
	other.address("edge")
	calls := s.traffic(100, address, by("blue"), "shop.example")
	xds := s.dialXDS("edge")

	own := s.token(s.account("edge"), audience)
	pod := s.ready(s.namespace, proxiesOf("edge"), 1)[0]
	bound := &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	if err := ask(xds, "own", s.namespace+"/edge", own); err != nil {
		t.Fatalf("with its own token: %v", err)
	}
	before := s.figures().Sum("cardea_xds_strangers_total")
	strangers := map[string]string{
		"another-gateway":   s.token(s.account("second"), audience),
		"another-namespace": other.token(other.account("edge"), audience),
		"another-audience":  s.token(s.account("edge"), "https://kubernetes.default.svc.cluster.local"),
		"another-account":   s.token("default", audience),
		"another-pod":       s.tokenOf(s.account("edge"), bound, audience),
		"forged":            own[:len(own)-20] + strings.Repeat("A", 20),
		"nothing":           "",
	}
	const tries = 3
	refusals := map[string]string{} // what each stranger is told
	for range tries {
		for node, token := range strangers {
			err := ask(xds, node, s.namespace+"/edge", token)
			if status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s: %v", node, err)
			}
			refusals[node] = status.Convert(err).Message()
		}
	}
	if n := s.figures().Sum("cardea_xds_strangers_total") - before; n != float64(tries*len(strangers)) {
		t.Errorf("%v strangers were counted, want %d", n, tries*len(strangers))
	}
	said := s.logs(s.controller())
	from := regexp.MustCompile(`msg="proxy rejected" from=(\S+) node=another-gateway `).FindStringSubmatch(said)
	if from == nil {
		t.Fatal("another Gateway's proxy was not said")
	}
	// Proxies of other tests come from the same address. A stranger without a valid token has no name yet.
	for node, refusal := range refusals {
		line := regexp.MustCompile(fmt.Sprintf(`(?m)^.*msg="proxy rejected" from=%s node=(""|%s) error=%s$`, from[1], node,
			regexp.QuoteMeta(strconv.Quote(refusal))))
		if list := line.FindAllString(said, -1); len(list) != 1 {
			t.Errorf("%s was said %d times, want once: %s\n%s", node, len(list), refusal, strings.Join(list, "\n"))
		}
	}
	want := fmt.Sprintf(`the token belongs to pod %s/%s, not to the node's id \"another-pod\"`, s.namespace, pod.Name)
	if !strings.Contains(said, want) {
		t.Errorf("not said: %s", want)
	}
	for node, token := range strangers {
		if token != "" && strings.Contains(said, token) {
			t.Errorf("the token of %s is in the log", node)
		}
	}
	reviews := s.figures().Sum("cardea_kube_token_reviews_total")
	for i := range 300 {
		err := ask(xds, "garbage", s.namespace+"/edge", fmt.Sprint(i, strangers["another-audience"]))
		if status.Code(err) != codes.PermissionDenied {
			t.Fatalf("garbage: %v", err)
		}
	}
	// Proxies are reviewed again when they connect again, which none does meanwhile.
	if n := s.figures().Sum("cardea_kube_token_reviews_total") - reviews; n != 0 {
		t.Errorf("%v reviews were asked of the API server because of garbage", n)
	}
	calls.flawless()
}

// ask asks for all listeners, as the proxy of a Gateway.
func ask(conn *grpc.ClientConn, node, cluster, token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	const listeners = "type.googleapis.com/envoy.config.listener.v3.Listener"
	err = stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: node, Cluster: cluster},
		TypeUrl: listeners})
	if err != nil && err != io.EOF {
		return err
	}
	response, err := stream.Recv()
	if err == nil && len(response.Resources) == 0 {
		err = fmt.Errorf("no listener in %v", response)
	}
	return err
}

// dialXDS connects to Cardea as the proxies of a Gateway do: by its name, which its certificate has.
func (s *stage) dialXDS(gateway string) *grpc.ClientConn {
	s.Helper()
	maps, err := s.Client.CoreV1().ConfigMaps(s.namespace).List(context.Background(),
		metav1.ListOptions{LabelSelector: proxiesOf(gateway)})
	if err != nil || len(maps.Items) != 1 {
		s.Fatalf("%d ConfigMaps, %v", len(maps.Items), err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(maps.Items[0].Data["ca.crt"])) {
		s.Fatal("there is no CA")
	}
	const name = "cardea." + system + ".svc"
	conn, err := grpc.NewClient("dns:///"+name+".cluster.local:18000", grpc.WithAuthority(name),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: name})))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	return conn
}

// account is the ServiceAccount of a Gateway's proxies.
func (s *stage) account(gateway string) string {
	s.Helper()
	return s.deployment(gateway).Spec.Template.Spec.ServiceAccountName
}

// token makes one of a ServiceAccount that is bound to no pod.
func (s *stage) token(account, audience string) string {
	s.Helper()
	return s.tokenOf(account, nil, audience)
}

func (s *stage) tokenOf(account string, bound *authenticationv1.BoundObjectReference, audience string) string {
	s.Helper()
	var request *authenticationv1.TokenRequest
	s.until("ServiceAccount "+account+" has a token", func() (string, bool) {
		var err error
		request, err = s.Client.CoreV1().ServiceAccounts(s.namespace).CreateToken(context.Background(), account,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
				Audiences: []string{audience}, BoundObjectRef: bound,
			}}, metav1.CreateOptions{})
		return fmt.Sprint(err), err == nil
	})
	return request.Status.Token
}

// logs is what a pod has written.
func (s *stage) logs(pod corev1.Pod) string {
	s.Helper()
	text, err := s.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name,
		&corev1.PodLogOptions{}).DoRaw(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}
