package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/kube/status"
	"cardea.dev/cardea/internal/source/kube"
)

func crdsCommand(p Program) *cobra.Command {
	var roles bool
	cmd := &cobra.Command{
		Use:   "crds",
		Short: "Print the CustomResourceDefinitions of Cardea's own kinds",
		Long: `Print the CustomResourceDefinitions of Cardea's own kinds, as YAML: DataPlane and, with the features that
this program has, the kinds of policies. Those of the Gateway API and of other projects are not among them.

The manifest of a release permits the controller to read these kinds. What a program with kinds of other modules
("cardea build") has to be permitted besides is printed with --rbac.`,
		Example: `  cardea crds | kubectl apply --server-side -f -

  # Of a program with kinds of policies that others wrote, with the permission to read them
  cardea crds --rbac | kubectl apply --server-side -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			documents := [][]byte{v1alpha1.DataPlaneDefinition}
			for _, e := range p.Extensions {
				if e.Definition != nil && e.Kind.DefinedBy() == model.OwnOrigin {
					documents = append(documents, e.Definition)
				}
			}
			if roles {
				more, err := extensionRoles(p)
				if err != nil {
					return err
				}
				documents = append(documents, more...)
			}
			return printDocuments(cmd.OutOrStdout(), documents)
		},
	}
	cmd.Flags().BoolVar(&roles, "rbac", false, "print also a ClusterRole for the kinds of other modules, and its binding")
	return cmd
}

func printDocuments(w io.Writer, documents [][]byte) error {
	for _, d := range documents {
		d = bytes.TrimSpace(bytes.TrimPrefix(d, []byte("---\n")))
		if _, err := fmt.Fprintf(w, "---\n%s\n", d); err != nil {
			return err
		}
	}
	return nil
}

// extensionRoles are a ClusterRole with what the controller needs for kinds of other modules, and its binding; none if
// there is no such kind. The manifest of a release has the others.
func extensionRoles(p Program) (documents [][]byte, err error) {
	var strangers []*kind.Kind
	for _, e := range p.Extensions {
		if e.Definition != nil && e.Kind.DefinedBy() == model.OwnOrigin && e.Kind.Group() != model.KindDataPlane.Group() {
			strangers = append(strangers, e.Kind)
		}
	}
	if len(strangers) == 0 {
		return nil, nil
	}
	const name, installed, role = "cardea-extensions", "cardea", "ClusterRole"
	catalog := kind.NewCatalog(strangers...)
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": installed}}
	version := rbacv1.SchemeGroupVersion.String()
	for _, object := range []any{
		rbacv1.ClusterRole{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: role}, ObjectMeta: meta,
			Rules: slices.Concat(kube.ClusterRules(catalog), status.Rules(catalog)),
		},
		rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRoleBinding"}, ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role, Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: installed, Namespace: "cardea-system"}},
		},
	} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		documents = append(documents, text)
	}
	return documents, nil
}
