package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/status"
	"cardea.dev/cardea/internal/ops/cli"
	"cardea.dev/cardea/internal/source/kube"
)

// This file adds a kind of object to the program by one declaration and its meaning, and touches no other file. Its
// name and its plural are those of the Gateway API's XBackend.

const ownDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: xbackends.own.example}
spec:
  group: own.example
  scope: Namespaced
  names: {kind: XBackend, plural: xbackends, singular: xbackend, shortNames: [xb]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            properties:
              secret: {type: string, default: main, maxLength: 12}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`

// ownSpec has one field: the name of a Secret in the object's namespace.
type ownSpec struct {
	Secret string `json:"secret"`
}

// DeepCopyInto copies the spec.
func (s *ownSpec) DeepCopyInto(into *ownSpec) { *into = *s }

type ownStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

var ownKind = model.KindOf("own.example", "XBackend")

func ownDeclaration(t *testing.T) *kind.Kind {
	t.Helper()
	definition, err := kind.ParseDefinition([]byte(ownDefinition))
	if err != nil {
		t.Fatal(err)
	}
	k := definition.NewKind()
	k.Content = kind.CustomContent[ownSpec]()
	k.Optional = true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		return []kind.Reference{{To: ownSecret(from, spec.(*ownSpec)), Keys: kind.AllKeys}}
	}
	k.RefersTo = []model.Kind{model.KindSecret}
	k.Status = &kind.Status{
		Conditions: []string{"Accepted"},
		Stamp: kind.StampOf(func(s ownStatus, stamp kind.Stamper) ownStatus {
			s.Conditions = stamp("", s.Conditions)
			return s
		}),
	}
	k.Columns = []kind.Column{
		{Title: "SECRET", CellText: func(o kind.JSONObject) string { return o.TextAt("spec", "secret") }},
		{Title: "ACCEPTED", CellText: func(o kind.JSONObject) string {
			return o.ObjectsAt("status",
				"conditions")[0].TextAt("status")
		}},
	}
	k.Page = &kind.Page{Path: "docs/own.md", Limits: map[string]string{"secret": "in the object's own namespace"}}
	return &k
}

func ownSecret(from model.ObjectRef, spec *ownSpec) model.ObjectRef {
	return model.Ref(model.KindSecret, from.Namespace(), spec.Secret)
}

// ownMeaning: an object is Accepted if its Secret has a token.
func ownMeaning(in *kinds.Sources) plan.Reporter {
	source := input.SourceOf[ownSpec](in.Sources, ownKind)
	return plan.NewReporter(ownKind, flow.Map(source.Collection(), "report/own",
		func(c *flow.Ctx, ref model.ObjectRef, o input.Object[ownSpec]) (plan.Report[ownStatus], bool) {
			secret, _ := flow.Fetch(c, in.Secrets.Collection(), ownSecret(ref, o.Spec))
			r := plan.Report[ownStatus]{UID: o.Meta.UID}
			ready := metav1.Condition{Type: "Accepted", ObservedGeneration: o.Meta.Generation}
			if secret.Spec != nil && len(secret.Spec.Data["token"]) > 0 {
				ready.Status, ready.Reason = metav1.ConditionTrue, "Accepted"
				ready.Message = fmt.Sprintf("the token has %d bytes", len(secret.Spec.Data["token"]))
			} else {
				ready.Status, ready.Reason = metav1.ConditionFalse, "NoToken"
				ready.Message = fmt.Sprintf("Secret %s has no token", o.Spec.Secret)
				r.Findings = []model.Finding{{
					Object: ref, Condition: "Accepted", Reason: ready.Reason, Field: "spec.secret", Message: ready.Message,
				}}
			}
			r.Status.Conditions = []metav1.Condition{ready}
			return r, true
		}))
}

// TestOwnKindInAFolder: the kind is defaulted and validated by its CustomResourceDefinition, has a meaning, and is
// shown by get beside the other kind of its name.
func TestOwnKindInAFolder(t *testing.T) {
	extension := world.Extension{Kind: ownDeclaration(t), NewReporter: ownMeaning}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("own.yaml", "apiVersion: own.example/v1\nkind: XBackend\nmetadata: {name: one}\n---\n"+
		"apiVersion: own.example/v1\nkind: XBackend\nmetadata: {name: two}\nspec: {secret: other}\n")
	write("main.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: main}\nstringData: {token: abc}\n")
	options := standalone.Options{
		Dialects: dataplanes.All(), Extensions: []world.Extension{extension}, Dir: dir, Bind: []string{"127.0.0.1"},
		Admin: "127.0.0.1:0", WorkDir: filepath.Join(t.TempDir(), "work"), CacheDir: t.TempDir(),
	}
	check := func(wants ...string) {
		t.Helper()
		var out bytes.Buffer
		if _, err := standalone.Check(t.Context(), options, &out); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("check prints %q, want %q", out.String(), want)
			}
		}
	}
	check("own.yaml:8", "spec.secret: Secret other has no token")

	address, ended := make(chan string, 1), make(chan error, 1)
	options.OnAdmin = func(a string) { address <- a }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- standalone.Run(ctx, options) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	program := cli.Program{Catalog: world.NewCatalog(extension)}
	var server string
	select {
	case server = <-address:
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	get := func(words ...string) string {
		t.Helper()
		var out bytes.Buffer
		cli.Main(t.Context(), slices.Concat([]string{"get", "--server", server}, words), program, &out, &out)
		return strings.Join(strings.Fields(out.String()), " ")
	}
	head, row := "NAME SECRET ACCEPTED STALE AGE one main True ", " two other False False "
	readWithin := time.Now().Add(20 * time.Second) // the API answers before the folder was read
	for {
		table := get("xbackends.own.example")
		if strings.Contains(table, head) && strings.Contains(table, row) {
			break
		}
		if time.Now().After(readWithin) {
			t.Fatalf("get prints %q", table)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if table := get("xbackends"); !strings.Contains(table, "No resources found") {
		t.Errorf("get of the other kind prints %q", table)
	}
	if list := get(); !strings.Contains(list, "xbackends.own.example own.example/v1 XBackend 2") {
		t.Errorf("get prints %q", list)
	}
	write("own.yaml",
		"apiVersion: own.example/v1\nkind: XBackend\nmetadata: {name: one}\n"+
			"spec: {secret: much-too-long-a-name}\n")
	check("own.yaml:4", "spec.secret")
}

// TestOwnKindInACluster: the Secret that the kind names is read with all its entries, the status and Events are
// written, and the roles have the kind.
func TestOwnKindInACluster(t *testing.T) {
	s := newStage(t)
	k := ownDeclaration(t)
	s.apply(ownDefinition)
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Extensions: []world.Extension{{Kind: k, NewReporter: ownMeaning}}, Check: true,
		Environment: model.Environment{Addresses: []string{"192.0.2.1"}},
	})
	edge, err := kube.New(kube.Config{REST: s.Config, Graph: w.Graph, Sources: w.Sources.Sources})
	if err != nil {
		t.Fatal(err)
	}
	// The cluster's own Cardea writes the other kinds' statuses.
	statuses, err := status.New(status.Config{
		REST: s.Config, Graph: w.Graph, Catalog: w.Sources.Catalog,
		Reports: plan.Reports{Reporters: []plan.Reporter{w.Reports.ForKind(ownKind)}, OtherFindings: w.Reports.OtherFindings},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{w.Graph.Run, edge.Run, statuses.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	s.apply("apiVersion: own.example/v1\nkind: XBackend\nmetadata: {name: one, namespace: " + s.namespace + "}\n")
	path := "/apis/own.example/v1/namespaces/" + s.namespace + "/xbackends/one"
	ready := func(want string) {
		t.Helper()
		s.until("the status is "+want, func() (string, bool) {
			text, err := s.Client.RESTClient().Get().AbsPath(path).DoRaw(context.Background())
			if err != nil {
				return err.Error(), false
			}
			var o struct{ Status ownStatus }
			if err := json.Unmarshal(text, &o); err != nil || len(o.Status.Conditions) == 0 {
				return string(text), false
			}
			c := o.Status.Conditions[0]
			return string(text), string(c.Status)+" "+c.Message == want
		})
	}
	ready("False Secret main has no token")
	s.until("an Event says so", func() (string, bool) {
		list, err := s.Client.EventsV1().Events(s.namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		for _, e := range list.Items {
			if e.Regarding.APIVersion == "own.example/v1" && e.Regarding.Name == "one" && e.Reason == "NoToken" {
				return "", true
			}
		}
		return fmt.Sprint(list.Items), false
	})
	s.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: main, namespace: " + s.namespace +
		"}\nstringData: {token: abcd}\n")
	ready("True the token has 4 bytes")

	catalog := w.Sources.Catalog
	for _, want := range []string{"xbackends", "xbackends/status"} {
		found := false
		for _, rule := range slices.Concat(kube.ClusterRules(catalog), status.Rules(catalog)) {
			found = found || slices.Contains(rule.APIGroups, "own.example") && slices.Contains(rule.Resources, want)
		}
		if !found {
			t.Errorf("no rule lets Cardea use %s of own.example", want)
		}
	}
	table, err := k.FieldTable(func(string,
		bool) []kind.Example {
		return []kind.Example{{Name: "own", Path: "own.yaml"}}
	})
	if want := "| `secret` | yes; in the object's own namespace | [own](own.yaml) |\n"; err != nil ||
		!strings.HasSuffix(table, want) {
		t.Errorf("the table of its fields is %q (%v)", table, err)
	}
}
