// Command install writes deploy/install.yaml: the manifests of deploy/manifests, with the CRDs of api and the
// roles in their places. The controller's packages declare the permissions in the roles themselves.
//
// It owns the order. It must never know what a package may do, nor change a manifest. Start reading at build.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/builtin"
	"cardea.dev/cardea/internal/certs"
	"cardea.dev/cardea/internal/deploy"
	"cardea.dev/cardea/internal/identity"
	"cardea.dev/cardea/internal/kind"
	"cardea.dev/cardea/internal/kinds"
	"cardea.dev/cardea/internal/kube"
	"cardea.dev/cardea/internal/pickers"
	"cardea.dev/cardea/internal/policykind"
	"cardea.dev/cardea/internal/server"
	"cardea.dev/cardea/internal/status"
)

const (
	name      = "cardea"
	namespace = "cardea-system"
)

func main() {
	out := flag.String("o", "install.yaml", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	policies, err := policykind.Of(builtin.Plugins())
	if err != nil {
		return err
	}
	text, err := build(filepath.Dir(out), policies)
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

// build joins the files of dir/manifests by name; the CRDs come at 2-*, the roles at 3-*.
func build(dir string, policies []*policykind.Declared) ([]byte, error) {
	manifests, err := filepath.Glob(filepath.Join(dir, "manifests", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var crds []string
	for _, api := range []string{"v1alpha1", "agentic/v0alpha0", "inference/v1", "inference/v1alpha2"} {
		list, err := filepath.Glob(filepath.Join(dir, "..", "api", api, "*.yaml"))
		if err != nil {
			return nil, err
		}
		crds = append(crds, list...)
	}
	i := slices.IndexFunc(manifests, func(path string) bool { return filepath.Base(path) > "2" })
	if i < 0 || len(crds) == 0 {
		return nil, fmt.Errorf("no manifests or no CRDs in %s", dir)
	}
	var parts [][]byte
	for _, path := range slices.Concat(manifests[:i], crds, manifests[i:]) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		parts = append(parts, bytes.TrimPrefix(text, []byte("---\n")))
	}
	i += len(crds)
	var more []*kind.Kind
	for _, policy := range policies {
		parts = slices.Insert(parts, i, policy.CRD)
		more = append(more, policy.Declaration)
		i++
	}
	roles, err := roles(kinds.Catalog(more...))
	if err != nil {
		return nil, err
	}
	all := []byte("# Generated from deploy/manifests by `make generate`: do not edit.\n")
	for _, part := range slices.Insert(parts, i, roles...) {
		all = fmt.Appendf(all, "---\n%s\n", bytes.TrimSpace(part))
	}
	return all, nil
}

// roles are the controller's permissions: in the whole cluster, and in its own namespace.
func roles(catalog *kind.Catalog) ([][]byte, error) {
	labels := map[string]string{"app.kubernetes.io/name": name}
	var texts [][]byte
	for _, role := range []any{
		rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Rules: slices.Concat(kube.Rules(catalog), status.Rules(catalog), deploy.Rules(),
				pickers.Rules(), identity.Rules(identity.SignerName)),
		},
		rbacv1.ClusterRole{ // pickers have it, in the namespaces of their pools
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: pickers.Role, Labels: labels},
			Rules:      pickers.RoleRules(),
		},
		rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels},
			Rules:      certs.Rules(server.SecretName(name), server.IdentitySecretName(name)),
		},
	} {
		text, err := yaml.Marshal(role)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
