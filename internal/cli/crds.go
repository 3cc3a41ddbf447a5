package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/api/v1alpha1"
)

func crdsCommand(p Program) *cobra.Command {
	return &cobra.Command{
		Use:   "crds",
		Short: "Print the CustomResourceDefinitions of Cardea's own kinds",
		Long: `Print the CustomResourceDefinitions of Cardea's own kinds, as YAML: DataPlane and, with the features that
this program has, the kinds of policies. Those of the Gateway API are not among them.`,
		Example: "  cardea crds | kubectl apply --server-side -f -",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			definitions := [][]byte{v1alpha1.DataPlaneDefinition}
			for _, e := range p.Extensions {
				if e.Definition != nil {
					definitions = append(definitions, e.Definition)
				}
			}
			for _, d := range definitions {
				d = bytes.TrimSpace(bytes.TrimPrefix(d, []byte("---\n")))
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "---\n%s\n", d); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
