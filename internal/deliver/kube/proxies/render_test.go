package proxies

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// testPod shows what a proxy starts with.
var testPod = dataplane.Pod{
	Files: func(s dataplane.PodOptions) (map[string][]byte, error) {
		text, err := yaml.Marshal(s)
		return map[string][]byte{"start.yaml": text}, err
	},
	Command: func(dir, level, nodeID string) []string {
		return []string{"proxy", "--config", dir + "/start.yaml", "--level=" + level, "--node", nodeID}
	},
	MetricsPath: "/metrics",
}

var testSettings = Settings{
	Image: "envoy:v1", XDSHost: "cardea.cardea-system.svc", XDSPort: 18000, XDSName: "cardea.cardea-system.svc",
	Audience: "cardea.dev/xds", ProbeAddress: DefaultProbeAddress, ProbePort: DefaultProbePort,
	MetricsPort: DefaultMetricsPort,
	EgressExcept: []netip.Prefix{
		netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("10.1.2.3/32"), netip.MustParsePrefix("fe80::/10"),
	},
	Resources: DefaultResources(), key: []byte("key"),
}

// TestRender renders the Gateways of testdata/*.txtar. A file holds:
//
//	proxy.yaml         a plan.ProxySpec, and the Gateway as "gateway: NAMESPACE/NAME"
//	KIND               the whole object
//	KIND/PATH/TO/PART  a part of it
//	invalid            what the user did wrong
//
// Only the sections that are there are checked.
func TestRender(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no file: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) { testRender(t, path) })
	}
}

func testRender(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		Gateway    string
		Parameters []v1alpha1.DataPlaneSpec
		plan.ProxySpec
	}
	if archive.Files[0].Name != "proxy.yaml" {
		t.Fatal("the first section must be proxy.yaml")
	}
	if err := yaml.UnmarshalStrict(archive.Files[0].Data, &in); err != nil {
		t.Fatal(err)
	}
	namespace, name, _ := strings.Cut(in.Gateway, "/")
	in.Name, in.Accepted = "envoy-proxy-0123456789ab", true
	for i, spec := range in.Parameters {
		in.ProxySpec.Parameters = append(in.ProxySpec.Parameters,
			plan.DataPlaneParameters{Ref: model.Ref(model.KindDataPlane, namespace, fmt.Sprintf("plane%d", i)), Spec: spec})
	}
	o, err := renderObjects(model.Ref(model.KindGateway, namespace, name), in.ProxySpec, testSettings, testPod,
		[]byte("the bundle\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, section := range archive.Files[1:] {
		got, err := o.section(section.Name)
		if err != nil {
			t.Fatalf("%s: %v", section.Name, err)
		}
		if !bytes.Equal(got, section.Data) && !*update {
			t.Errorf("%s is\n%s\nwant\n%s", section.Name, got, section.Data)
		}
		archive.Files[i+1].Data = got
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// section is what a section of a file should hold.
func (o renderedObjects) section(name string) ([]byte, error) {
	if name == "invalid" {
		var lines []string
		for k, problem := range o.invalid {
			lines = append(lines, fmt.Sprintf("%s: %v\n", k, problem))
		}
		slices.Sort(lines)
		return []byte(strings.Join(lines, "")), nil
	}
	steps := strings.Split(name, "/")
	for k := range kindsEnd {
		if k.String() != steps[0] {
			continue
		}
		text, found := o.texts[k]
		if !found {
			return []byte("none\n"), nil
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		for _, step := range steps[1:] {
			switch v := value.(type) {
			case map[string]any:
				value = v[step]
			case []any:
				value = v[int(step[0]-'0')]
			}
		}
		return yaml.Marshal(value)
	}
	return nil, errors.New("no such kind")
}

// TestRenderIsPure: equal arguments give equal bytes, and a part that is another one changes what it should.
func TestRenderIsPure(t *testing.T) {
	ref := model.Ref(model.KindGateway, "shop", "web")
	p := plan.ProxySpec{UID: "u", Name: "envoy-proxy-0123456789ab", Accepted: true,
		Ports:  []plan.ProxyPort{{Number: 80, Bind: 80, Transport: model.TransportTCP}},
		Labels: map[string]string{"a": "1", "b": "2", "c": "3"}}
	one := func(bundle string, s Settings) renderedObjects {
		o, err := renderObjects(ref, p, s, testPod, []byte(bundle))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	changed := func(a, b renderedObjects) (list []kind) {
		for k := range kindsEnd {
			if !bytes.Equal(a.texts[k], b.texts[k]) {
				list = append(list, k)
			}
		}
		return list
	}
	first := one("x", testSettings)
	for range 10 {
		if list := changed(first, one("x", testSettings)); len(list) > 0 {
			t.Fatalf("%v differ", list)
		}
	}
	if list := changed(first, one("y", testSettings)); !slices.Equal(list, []kind{configMap}) {
		t.Errorf("another bundle changes %v: pods must not be replaced for it", list)
	}
	elsewhere := testSettings
	elsewhere.XDSPort++
	if list := changed(first, one("x", elsewhere)); !slices.Equal(list, []kind{configMap, deployment}) {
		t.Errorf("another bootstrap changes %v", list)
	}
	rekeyed := testSettings
	rekeyed.key = []byte("another key")
	if list := changed(first, one("x", rekeyed)); !slices.Equal(list, []kind{configMap, deployment}) {
		t.Errorf("another key changes %v: the path of the drain must not be guessed from the Gateway", list)
	}
	p.Ports = append(p.Ports, plan.ProxyPort{Number: 443, Bind: 443, Transport: model.TransportTCP})
	if list := changed(first, one("x", testSettings)); !slices.Equal(list, []kind{service}) {
		t.Errorf("another port changes %v: pods must not be replaced for it", list)
	}
	unbounded := testSettings
	unbounded.EgressExcept = nil
	if list := changed(one("x", testSettings), one("x", unbounded)); !slices.Equal(list, []kind{networkPolicy}) {
		t.Errorf("a NetworkPolicy that is turned off changes %v", list)
	}
	p.Accepted = false
	if o := one("x", testSettings); len(o.texts) != 3 || len(changed(first, o)) != 2 || o.texts[configMap] == nil ||
		o.texts[serviceAccount] == nil || o.texts[networkPolicy] == nil {
		t.Errorf("of a Gateway that is not accepted %v are made other than before", changed(first, o))
	}
}

func TestFront(t *testing.T) {
	ip := func(list ...string) (all []model.Address) {
		for _, v := range list {
			all = append(all, model.Address{Value: v})
		}
		return all
	}
	balanced := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		ClusterIPs: []string{"10.0.0.1"}}}
	balanced.Name = "s"
	balanced.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "1.2.3.5"}, {IP: "1.2.3.4"},
		{Hostname: "lb.example"}}
	waiting := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		ClusterIPs: []string{"10.0.0.1"}}}
	waiting.Name = "s"
	inside := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP,
		ClusterIPs: []string{"10.0.0.1", "fd00::1"}}}
	headless := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIPs: []string{"None"}}}
	external := &corev1.Service{Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, ClusterIPs: []string{"10.0.0.1"}, ExternalIPs: []string{"9.9.9.9"},
	}}
	given := append(ip("1.2.3.4", "1.2.3.5"), model.Address{Hostname: true, Value: "lb.example"})
	for name, c := range map[string]struct {
		wanted  []model.Address
		service *corev1.Service
		front   model.Front
		noPort  bool
	}{
		"none": {service: nil},
		"no port": {noPort: true, service: nil, front: model.Front{
			Reason: "AddressNotAssigned", Message: "there is no Service: no listener has a port for it",
		}},
		"no port any more": {noPort: true, service: balanced, front: model.Front{Addresses: given}},
		"waiting":          {service: waiting},
		"headless":         {service: headless},
		"balanced":         {service: balanced, front: model.Front{Addresses: given}},
		"inside":           {service: inside, front: model.Front{Addresses: ip("10.0.0.1", "fd00::1")}},
		"external":         {service: external, front: model.Front{Addresses: ip("10.0.0.1", "9.9.9.9")}},
		"wanted":           {wanted: ip("1.2.3.4"), service: balanced, front: model.Front{Addresses: given}},
		"unusable": {wanted: ip("1.2.3.4", "7.7.7.7"), service: balanced, front: model.Front{
			Addresses: given,
			Reason:    "AddressNotUsable", Message: "Service s did not get 7.7.7.7; it has 1.2.3.4, 1.2.3.5, lb.example",
		}},
		"not given": {wanted: ip("7.7.7.7"), service: waiting, front: model.Front{
			Reason: "AddressNotUsable", Message: "Service s did not get 7.7.7.7",
		}},
	} {
		p := plan.ProxySpec{Addresses: c.wanted,
			Ports: []plan.ProxyPort{{Number: 80, Bind: 80, Transport: model.TransportTCP}}}
		if c.noPort {
			p.Ports = nil
		}
		if got := frontOf(p, c.service); fmt.Sprint(got) != fmt.Sprint(c.front) {
			t.Errorf("%s: %+v, want %+v", name, got, c.front)
		}
	}
}
