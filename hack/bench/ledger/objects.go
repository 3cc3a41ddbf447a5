package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/internal/core/ledger"
)

// gatewayText is the Gateway of the routes, as package scene writes it into a folder.
func gatewayText(port int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: bench}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: %d, protocol: HTTP}]}
`, port)
}

// world is a Gateway and n routes, each with its Service and its EndpointSlice. Route 0 is the one that is edited.
func world(n, port int) (list []ledger.Edit, err error) {
	texts := []string{gatewayText(port), scene.Text(0, "edit-1")}
	for i := 1; i < n; i++ {
		texts = append(texts, scene.Text(i, ""))
	}
	for _, text := range texts {
		edits, err := editsOf(text)
		if err != nil {
			return nil, err
		}
		list = append(list, edits...)
	}
	return list, nil
}

// editsOf are the objects of a text.
func editsOf(text string) (list []ledger.Edit, err error) {
	for doc := range strings.SplitSeq(text, "---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return nil, err
		}
		k, content, err := ledger.ContentOf(ledger.DefaultTarget, object)
		if err != nil {
			return nil, err
		}
		list = append(list, ledger.Edit{Key: k, Content: content})
	}
	return list, nil
}

// edited is an edit of the one route that is edited: it redirects to a path with the number of the edit.
func edited(i int) (ledger.Draft, error) {
	edits, err := editsOf(scene.Text(0, fmt.Sprintf("edit%d", i)))
	if err != nil {
		return ledger.Draft{}, err
	}
	return ledger.Draft{Author: "bench", Message: fmt.Sprintf("edit %d", i), Edits: edits[:1]}, nil
}

// small is an edit of an object of a few hundred bytes, with another content for each version.
func small(target, kind string, object, version int) ledger.Edit {
	k := ledger.Key{Target: target, Kind: kind, Namespace: "bench", Name: scene.Name(object)}
	o := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": k.Name, "namespace": "bench"},
		"data": map[string]any{"version": fmt.Sprint(version), "filling": strings.Repeat("filling ", 30)}}
	if kind == "HTTPRoute" {
		k.Group = "gateway.networking.k8s.io"
		o["apiVersion"], o["data"] = k.Group+"/v1", nil
		delete(o, "data")
		o["spec"] = map[string]any{"parentRefs": []any{map[string]any{"name": "web"}},
			"hostnames": []any{fmt.Sprintf("%s-%d.example.com", k.Name, version)},
			"rules":     []any{map[string]any{"backendRefs": []any{map[string]any{"name": k.Name, "port": 80}}}}}
	}
	content, err := json.Marshal(o)
	if err != nil {
		panic(err) // it consists of text and numbers
	}
	return ledger.Edit{Key: k, Content: content}
}
