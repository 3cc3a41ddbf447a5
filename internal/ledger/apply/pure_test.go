package apply

import (
	"errors"
	"net/url"
	"reflect"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/ledger"
)

// parsed is the object of a YAML text.
func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	return o
}

const mixed = `
apiVersion: example.com/v1
kind: Thing
metadata:
  name: x
  resourceVersion: "7"
  annotations: {mine: a, theirs: b}
  managedFields:
  - {manager: cardea-ledger, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {
      "f:metadata": {"f:annotations": {"f:mine": {}}},
      "f:spec": {"f:atomic": {}, "f:empty": {}, "f:set": {'v:"a"': {}},
        "f:items": {'k:{"name":"one"}': {".": {}, "f:name": {}, "f:port": {}}}}}}
  - {manager: other, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {
      "f:metadata": {"f:annotations": {"f:theirs": {}}},
      "f:spec": {"f:empty": {"f:added": {}}, "f:set": {'v:"b"': {}},
        "f:items": {'k:{"name":"one"}': {"f:extra": {}}, 'k:{"name":"two"}': {".": {}, "f:name": {}}}}}}
  - {manager: controller, operation: Update, subresource: status, apiVersion: example.com/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:status": {"f:ready": {}}}}
spec:
  atomic: [{b: 1, defaulted: 2}]
  empty: {added: 1, defaulted: 2}
  set: [a, b]
  items: [{name: one, port: 80, extra: 1, defaulted: 2}, {name: two}]
status: {ready: true}
`

// TestOwnedPart: what the ledger owns, without what others own of it or the API server added beside it; within what it
// owns as a whole, defaults are part of it.
func TestOwnedPart(t *testing.T) {
	o := parsed(t, mixed)
	want := parsed(t, `
kind: Thing
metadata: {annotations: {mine: a}}
spec:
  atomic: [{b: 1, defaulted: 2}]
  empty: {defaulted: 2}
  set: [a]
  items: [{name: one, port: 80}]
`).Object
	delete(want, "kind")
	if got := selectOwned(o); !reflect.DeepEqual(got, want) {
		t.Errorf("owned is %v, want %v", got, want)
	}
	others := []string{"spec.empty.added", "spec.items[name=one].extra", "spec.items[name=two]", `spec.set["b"]`}
	if got := listForeign(o); !slices.Equal(got, others) {
		t.Errorf("foreign is %v", got)
	}
}

// TestSumIsOfWhatIsOwned: nobody else's fields count but for exact kinds, and neither do status and versions.
func TestSumIsOfWhatIsOwned(t *testing.T) {
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name        string
		edit        func(*unstructured.Unstructured)
		same, exact bool // exact: the same for exact kinds
	}{
		{"others' annotation", set("c", "metadata", "annotations", "theirs"), true, true},
		{"our annotation", set("c", "metadata", "annotations", "mine"), false, false},
		{"status", set(false, "status", "ready"), true, true},
		{"version", set("8", "metadata", "resourceVersion"), true, true},
		{"a field of a list that we own as a whole", set([]any{map[string]any{"b": int64(2)}}, "spec", "atomic"), false,
			false},
		{"a field that nobody stated", set("x", "spec", "new"), true, true},
		// what they had of a field that is ours as a whole is ours then
		{"others' ownership", func(o *unstructured.Unstructured) {
			o.SetManagedFields(o.GetManagedFields()[:1])
		}, false, false},
	} {
		before, after := parsed(t, mixed), parsed(t, mixed)
		c.edit(after)
		if got := resultHash(before, false) == resultHash(after, false); got != c.same {
			t.Errorf("%s: the same is %v", c.name, got)
		}
		if got := resultHash(before, true) == resultHash(after, true); got != c.exact {
			t.Errorf("%s: the same for an exact kind is %v", c.name, got)
		}
	}
}

// TestHashStays: ledgers hold these hashes. If another version of the program computed others, all objects would seem
// to have drifted.
func TestHashStays(t *testing.T) {
	for exact, want := range map[bool]string{
		false: "7d706ffc04c5c2e2f600e9f1b45a13b934ee11c7e2dc3aff67f1769f49905cc6",
		true:  "dff83190c43b5a59669b0451cfdcf5b7680e3c43ca9243ba6ef66ee4fabba179",
	} {
		if got := resultHash(parsed(t, mixed), exact); got != want {
			t.Errorf("the hash, exact %v, is %s, want %s", exact, got, want)
		}
	}
}

// TestTakeOver: the patch makes the ledger own what others owned of the spec, and leaves the rest to them.
func TestTakeOver(t *testing.T) {
	o := parsed(t, mixed)
	patch, err := takeOver(o)
	if err != nil {
		t.Fatal(err)
	}
	var steps []struct {
		Path  string
		Value any
	}
	if err := yaml.Unmarshal(patch, &steps); err != nil {
		t.Fatal(err)
	}
	if steps[0].Path != "/metadata/resourceVersion" || steps[0].Value != "7" {
		t.Errorf("the patch is not bound to the version that was read: %s", patch)
	}
	if err := unstructured.SetNestedField(o.Object, steps[1].Value, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	if got := listForeign(o); len(got) != 0 {
		t.Errorf("others still own %v", got)
	}
	ours, others := splitOwnership(entriesOf(o))
	if !isWithin(ours, o.Object) || !hasElement(others, fieldpath.FieldNameElement("metadata")) ||
		len(o.GetManagedFields()) != 3 {
		t.Errorf("the owners are %v", o.GetManagedFields())
	}
}

// TestDifferences names fields, what was wanted, and what is there.
func TestDifferences(t *testing.T) {
	stated := parsed(t, `
kind: T
spec: {cpu: "0.5", count: 1, list: [{name: a, v: 1}, {name: b}], plain: [1, 2], gone: x}
`)
	live := parsed(t, `
kind: T
spec: {cpu: 500m, count: 2, list: [{name: b, more: 1}, {name: a, v: 3}], plain: [1, 3], new: y}
`)
	c := comparison{lenient: true}
	c.compare("", stated.Object, live.Object, live.Object)
	want := `spec.count: wanted 1, found 2; spec.gone: wanted "x", found nothing; ` +
		`spec.list[name=a].v: wanted 1, found 3; spec.plain[1]: wanted 2, found 3`
	if got := describeDifferences(c.list, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := describeDifferences(c.list[:1], true); got != "spec.count differs" {
		t.Errorf("of a Secret it is said: %s", got)
	}
	strict := comparison{}
	strict.compare("", stated.Object, live.Object, live.Object)
	if len(strict.list) != len(c.list)+1 {
		t.Errorf("strictly, the differences are %v", strict.list)
	}
}

// TestFight: five corrections a minute are none; then each waits twice as long, up to ten minutes; another manager, or
// a quiet time, begins anew.
func TestFight(t *testing.T) {
	var f correctionHistory
	now := time.Now()
	for range fightRounds {
		if pause := f.noteCorrection("x", now); pause != 0 {
			t.Fatalf("the pause is %v", pause)
		}
		now = now.Add(time.Second)
	}
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 320, 600, 600} {
		pause := f.noteCorrection("x", now)
		if pause != want*time.Second {
			t.Errorf("the pause is %v, want %v", pause, want*time.Second)
		}
		now = now.Add(pause)
	}
	if pause := f.noteCorrection("y", now); pause != 0 {
		t.Errorf("the pause for another one is %v", pause)
	}
	for range 2 * fightRounds {
		now = now.Add(fightWindow)
		if pause := f.noteCorrection("y", now); pause != 0 {
			t.Errorf("the pause of one a minute is %v", pause)
		}
	}
}

// TestFailuresAreSorted: what is the same next time is permanent.
func TestFailuresAreSorted(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	for _, c := range []struct {
		err       error
		code      string
		permanent bool
		why       retryCondition
	}{
		{apierrors.NewBadRequest("no"), "BadRequest", true, retryOnSchema},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "x", nil), "Invalid", true, retryOnSchema},
		{apierrors.NewForbidden(things, "x", errors.New(`User "w" cannot get resource`)), "Forbidden", true, retryOnAccess},
		{apierrors.NewForbidden(things, "x", errors.New("violates PodSecurity")), "Forbidden", true, retryAfterDelay},
		{apierrors.NewForbidden(things, "x", errors.New("exceeded quota: few")), "Forbidden", false, retryAfterDelay},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), "NotFound", false, retryOnNamespace},
		{apierrors.NewServiceUnavailable("no"), "ServiceUnavailable", false, retryOnContact},
		{apierrors.NewInternalError(errors.New("webhook")), "InternalError", false, retryAfterDelay},
		{apierrors.NewTooManyRequests("busy", 1), "TooManyRequests", false, retryAfterDelay},
		{apierrors.NewConflict(things, "x", errors.New("again")), "Conflict", false, retryAfterDelay},
		{apierrors.NewUnauthorized("who"), "Unauthorized", false, retryAfterDelay},
		{&url.Error{Op: "Get", Err: errors.New("refused")}, codeUnreachable, false, retryOnContact},
	} {
		f := failureOf(ledger.Key{Kind: "Thing"}, c.err)
		if f.code != c.code || f.permanent != c.permanent || f.retryOn != c.why {
			t.Errorf("%v is %+v", c.err, f)
		}
	}
}
