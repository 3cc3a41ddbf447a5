package proxies

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// FuzzPatches: whatever the patches are, the rendered object is valid JSON with the right name, or there is an error
// for the user.
func FuzzPatches(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `7`, `{"spec":null}`, `{"metadata":{"labels":{"a":"b"}}}`,
		`{"spec":{"containers":[{"name":"envoy","$patch":"delete"}]}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"x","image":"y"}]}}}}`,
		`{"spec":{"ports":[{"port":80,"nodePort":30000}]}}`,
		`{"spec":{"containers":{"name":"envoy"}}}`, `{"spec":{"$setElementOrder/containers":[{"name":"envoy"}]}}`,
		`{"$retainKeys":["spec"]}`,
		`{"spec":{"template":[]}}`, `{"metadata":{"name":"other"}}`, `{"spec":{"volumes":[{"$patch":"replace"}]}}`,
	} {
		f.Add(seed)
	}
	ref := model.Ref(model.KindGateway, "shop", "web")
	f.Fuzz(func(t *testing.T, patch string) {
		if !json.Valid([]byte(patch)) {
			t.Skip("no API server sends it")
		}
		raw := &apiextensionsv1.JSON{Raw: []byte(patch)}
		p := plan.ProxySpec{
			UID: "u", Name: "envoy-proxy-0123456789ab", Accepted: true,
			Ports: []plan.ProxyPort{{Number: 80, Bind: 80, Transport: model.TransportTCP}},
		}
		for _, spec := range []v1alpha1.DataPlaneSpec{
			{Pod: &v1alpha1.PodSettings{Patch: raw}}, {Deployment: &v1alpha1.DeploymentSettings{Patch: raw}},
			{Service: &v1alpha1.ServiceSettings{Patch: raw}},
		} {
			p.Parameters = []plan.DataPlaneParameters{{Ref: model.Ref(model.KindDataPlane, "shop", "plane"), Spec: spec}}
			o, err := renderObjects(ref, p, testSettings, testPod, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, text := range o.texts {
				var object struct {
					Metadata struct{ Name, Namespace string }
				}
				if o.invalid[k] != nil {
					continue
				}
				if err := json.Unmarshal(text, &object); err != nil || object.Metadata.Name != p.Name ||
					object.Metadata.Namespace != ref.Namespace() {
					t.Fatalf("%s becomes %s: %v", k, text, err)
				}
			}
		}
	})
}
