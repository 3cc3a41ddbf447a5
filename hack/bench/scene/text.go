package scene

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// perFile is how many routes a file of a folder has.
const perFile = 100

// Write makes the scene's Gateway and n routes in a folder: route 0 has its own file (Edit), the others are in files of
// a hundred. The Gateway's listener has no TLS.
func Write(dir string, n, port int) error {
	gateway := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n"+
		"metadata: {name: web, namespace: bench}\n"+
		"spec: {gatewayClassName: cardea, listeners: [{name: http, port: %d, protocol: HTTP}]}\n", port)
	if err := os.WriteFile(filepath.Join(dir, "gateway.yaml"), []byte(gateway), 0o644); err != nil {
		return err
	}
	for first := 1; first < n; first += perFile {
		var text strings.Builder
		for i := first; i < min(first+perFile, n); i++ {
			text.WriteString(Text(i, ""))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("routes-%05d.yaml", first)), []byte(text.String()),
			0o644); err != nil {
			return err
		}
	}
	return Replace(filepath.Join(dir, "edited.yaml"), Text(0, "edit-1"))
}

// Replace writes a file of a folder at once.
func Replace(path, text string) error {
	if err := os.WriteFile(path+".draft", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".draft", path)
}

// Text is a route of one rule with its own host, Service and slice. If to is not "" it has another that redirects
// there, so that an answer needs no backend.
func Text(i int, to string) string {
	var redirect string
	if to != "" {
		redirect = `
  - matches: [{path: {type: Exact, value: /moved}}]
    filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /` + to + `}}}]`
	}
	return strings.NewReplacer("NAME", Name(i), "REDIRECT", redirect).Replace(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME, namespace: bench}
spec:
  parentRefs: [{name: web}]
  hostnames: [NAME.example.com]
  rules:REDIRECT
  - backendRefs: [{name: NAME, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: bench}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: NAME, namespace: bench, labels: {kubernetes.io/service-name: NAME}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: 9}]
`)
}
