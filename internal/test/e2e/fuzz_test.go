package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/source/machine"
)

// FuzzObjects: whatever valid objects hold, nothing panics, and what they are rendered to is valid by the rules of
// Envoy's protos. The seeds are the files of testdata; the script changes them.
func FuzzObjects(f *testing.F) {
	c := readCorpus(f)
	for i := range c.files {
		f.Add(uint16(i), []byte{})
		f.Add(uint16(i), scriptOf(uint64(i)))
	}
	f.Fuzz(func(t *testing.T, file uint16, script []byte) { rendered(t, c.mutate(int(file), script, isValid)) })
}

// TestManyObjects is a bounded run of FuzzObjects, the same one each time. TestEnvoyTakesManyObjects is a longer one,
// of other scripts.
func TestManyObjects(t *testing.T) {
	const n, first = 100, 5000
	c := readCorpus(t)
	outputs := map[string]bool{}
	for i := first; i < first+n; i++ {
		for key, r := range rendered(t, c.mutate(i, scriptOf(uint64(i)), isValid)) {
			outputs[xdstypes.Name(key.Type)+r.Version] = true
		}
		if t.Failed() {
			t.Fatalf("in run %d", i)
		}
	}
	if t.Logf("%d runs gave %d different resources", n, len(outputs)); len(outputs) < n/2 {
		t.Errorf("%d runs gave %d different resources only", n, len(outputs))
	}
}

// scriptOf is a script by a number.
func scriptOf(seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	script := make([]byte, 64)
	for i := range script {
		script[i] = byte(random.Uint32())
	}
	return script
}

// rendered is what objects mean, those of them that are valid. It fails the test for what must not be.
func rendered(t *testing.T, docs []map[string]any) map[resource.Key]resource.Resource {
	t.Helper()
	w := worldOf(t, docs)
	onThisMachine(w)
	all := map[resource.Key]resource.Resource{}
	w.Graph.View(func(v flow.View) {
		for key, p := range flow.All(v, w.Graph.Panics()) {
			t.Errorf("%s panicked on %s: %s\n%s", key.Collection, key.Key, p.Message, p.Stack)
		}
		for _, typ := range xdstypes.All() {
			for key, r := range w.Outputs.All(v, typ) {
				all[key] = r
			}
		}
	})
	for key, r := range all {
		if err := valid(key, r, all); err != nil {
			t.Errorf("%s %s: %v", xdstypes.Name(key.Type), key.Name, err)
		}
	}
	return all
}

// onThisMachine has the files looked at that the proxies of a world would write.
func onThisMachine(w *world.World) {
	w.SetEnvironment(model.Environment{Addresses: []string{"127.0.0.1"}, PortOffset: Offset, Machine: true})
	looker := machine.New(machine.Config{Graph: w.Graph, Wanted: w.Plan.Files, Files: w.Sources.Files})
	for w.Graph.Settle(); looker.Step(); {
		w.Graph.Settle()
	}
}

// valid tells what is wrong with a resource by the rules of Envoy's protos, those inside an Any included, and what it
// needs and is not there.
func valid(key resource.Key, r resource.Resource, all map[resource.Key]resource.Resource) error {
	m, err := (&anypb.Any{TypeUrl: xdstypes.URL(key.Type), Value: r.AppendBytes(nil)}).UnmarshalNew()
	if err != nil {
		return err
	}
	var wrong []error
	check := func(m proto.Message) {
		if v, ok := m.(interface{ ValidateAll() error }); ok {
			wrong = append(wrong, v.ValidateAll())
		} else {
			wrong = append(wrong, fmt.Errorf("%T has no rules", m))
		}
	}
	check(m)
	err = protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		if last := p.Index(-1); last.Step.Kind() == protopath.AnyExpandStep {
			if inner, ok := last.Value.Interface().(protoreflect.Message); ok {
				check(inner.Interface())
			}
		}
		return nil
	})
	wrong = append(wrong, err)
	ids := map[string]bool{}
	for i, p := range r.Parts {
		if ids[p.ID] || i > 0 && p.ID < r.Parts[i-1].ID {
			wrong = append(wrong, fmt.Errorf("part %q comes twice, or out of order", p.ID))
		}
		ids[p.ID] = true
		for _, n := range p.Needs {
			if _, found := all[resource.Key{Gateway: key.Gateway, Type: n.Type, Name: n.Name}]; !found {
				wrong = append(wrong, fmt.Errorf("part %q needs %s %s, which is not there", p.ID, xdstypes.Name(n.Type), n.Name))
			}
		}
	}
	return errors.Join(wrong...)
}

// TestEnvoyTakesManyObjects sends what many changed objects are rendered to through a real Envoy: each resource under a
// name of its own, listeners without their ports. What Envoy refuses, Cardea should have found.
func TestEnvoyTakesManyObjects(t *testing.T) {
	c := readCorpus(t)
	n := 1000
	if testing.Short() {
		n = 100
	}
	trialServer := newTrialServer(t)
	from := map[string]int{}
	for i := range n {
		for key, r := range rendered(t, c.mutate(i, scriptOf(uint64(i)), isValid)) {
			id := xdstypes.Name(key.Type) + r.Version
			if _, known := from[id]; !known {
				from[id] = i
				trialServer.add(t, i, key, r)
			}
		}
	}
	trialServer.addBad(t)
	refused := trialServer.run(t)
	known := len(refused)
	if refused = slices.DeleteFunc(refused,
		func(r string) bool { return strings.HasPrefix(r, nonce(xdstypes.Routes, bad)) }); len(refused) == known {
		t.Error("Envoy takes a table that is known to be bad")
	}
	t.Logf("%d objects' worth of configuration, %d different resources, sent through Envoy: %d refused", n,
		trialServer.size(),
		len(refused))
	slices.Sort(refused)
	if len(refused) > 0 {
		t.Errorf("Envoy refuses what Cardea did not:\n%s", strings.Join(refused, "\n"))
	}
}
