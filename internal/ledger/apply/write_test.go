package apply

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestObjectsComeChangeGoBackAndGo: of kinds of the Gateway API, of others, and of one without namespaces: created,
// changed, back at the first revision with a later generation, and deleted.
func TestObjectsComeChangeGoBackAndGo(t *testing.T) {
	for _, c := range []struct {
		name, text, old, new string
		path                 []string
	}{
		{"ConfigMap", configText, "red", "blue", []string{"data", "color"}},
		{"HTTPRoute", routeText, "shop.example", "store.example", []string{"spec", "hostnames"}},
		{"Gateway", gatewayText, "cardea", "other", []string{"spec", "gatewayClassName"}},
		{"Deployment", deploymentText, "replicas: 0", "replicas: 1", []string{"spec", "replicas"}},
		{"ClusterRole", roleText, "pods", "secrets", []string{"rules"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.run()
			k := s.edit(c.text).Key
			s.put(c.text)
			in := s.synced(k)
			first := s.live(k)
			if in.Applied.UID != string(first.GetUID()) || in.Applied.KubeGeneration != first.GetGeneration() ||
				in.Observed != 1 {
				t.Errorf("applied is %+v, the object has uid %s and generation %d", in, first.GetUID(), first.GetGeneration())
			}
			marked(t, first, 1, 1, 1)
			old := field(first, c.path...)

			s.put(strings.ReplaceAll(c.text, c.old, c.new))
			s.synced(k)
			second := s.live(k)
			marked(t, second, 2, 2, 2)
			if equalJSON(field(second, c.path...), old) || second.GetUID() != first.GetUID() {
				t.Errorf("after the edit the object is %v", second.Object)
			}

			s.commit(ledger.Draft{Verb: ledger.Rollback, Edits: []ledger.Edit{{Key: k, Revision: 1}}})
			s.synced(k)
			third := s.live(k)
			marked(t, third, 3, 1, 3)
			if !equalJSON(field(third, c.path...), old) {
				t.Errorf("back at revision 1 the object is %v", third.Object)
			}

			s.delete(k)
			s.forgotten(k)
			if s.live(k) != nil {
				t.Error("the object is there")
			}
		})
	}
}

// marked fails unless an object has the ledger's annotations.
func marked(t *testing.T, o *unstructured.Unstructured, generation, revision, change int) {
	t.Helper()
	notes := o.GetAnnotations()
	for name, want := range map[string]int{ledger.GenerationAnnotation: generation, ledger.RevisionAnnotation: revision,
		ledger.ChangeAnnotation: change} {
		if notes[name] != strconv.Itoa(want) {
			t.Errorf("%s is %q, want %d", name, notes[name], want)
		}
	}
	if notes[ledger.ObjectAnnotation] == "" {
		t.Error("the object has no id")
	}
}
