package envoy

import (
	"encoding/hex"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// secretSource is the encoded config source of every certificate and authority that proxies are served: ads: {} and
// resource_api_version: V3.
const secretSource = "30021a00"

// TestSecretSources: the source of secrets has the same bytes in each version of Cardea. Envoy knows a secret by its
// name and source: with another source it is a new one, and Envoy 1.40 can leave a listener that serves without a
// certificate (envoyproxy/envoy#47309).
func TestSecretSources(t *testing.T) {
	w := newWorld(t)
	w.apply(func(b *flow.Batch) {
		secret := testSecret(t, "cert", "h.test")
		w.secrets.Set(b, secret.Ref, secret)
		https := testListener("https", "h.test")
		https.Certificates = []model.ObjectRef{secret.Ref}
		https.Clients = &model.ClientValidation{CA: "pem"}
		w.addPort(b, 443, 10443, model.HTTPS, https)
		shown := &model.BackendTLS{Hostname: "dns.test", Certificate: secret.Ref}
		w.setBackend(b, model.Backend{Key: service("dns"), Hostname: "dns.test", HostPort: 80, TLS: shown})
	})
	found := map[resource.Type]int{}
	for key, r := range w.resources() {
		message, ok := map[resource.Type]proto.Message{
			xdstypes.Listener: &listenerv3.Listener{}, xdstypes.Cluster: &clusterv3.Cluster{},
		}[key.Type]
		if !ok {
			continue
		}
		if err := proto.Unmarshal(r.AppendBytes(nil), message); err != nil {
			t.Fatal(err)
		}
		for _, source := range secretSources(t, message) {
			found[key.Type]++
			if source != secretSource {
				t.Errorf("%v %s has a secret of source %s, want %s", key.Type, key.Name, source, secretSource)
			}
		}
	}
	if found[xdstypes.Listener] < 2 || found[xdstypes.Cluster] < 1 {
		t.Errorf("sources were found in %v, want a listener's certificate and authorities, and a cluster's", found)
	}
}

// secretSources are the encoded sources of secrets in a message.
func secretSources(t *testing.T, m proto.Message) (all []string) {
	t.Helper()
	err := protorange.Range(m.ProtoReflect(), func(v protopath.Values) error {
		last := v.Index(-1)
		if last.Step.Kind() != protopath.FieldAccessStep ||
			last.Step.FieldDescriptor().FullName() != "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig.sds_config" {
			return nil
		}
		encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(last.Value.Message().Interface())
		all = append(all, hex.EncodeToString(encoded))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
