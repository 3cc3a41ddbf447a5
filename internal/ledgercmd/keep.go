package ledgercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/ledger"
)

// eachObject calls do with each object, a page at a time.
func eachObject(ctx context.Context, l ledger.Ledger, q ledger.ObjectsQuery, do func(ledger.Object) error) error {
	q.Limit = 1000
	for more := true; more; {
		page, err := l.Objects(ctx, q)
		if err != nil {
			return err
		}
		for _, object := range page.Objects {
			q.After = &object.Key
			if err := do(object); err != nil {
				return err
			}
		}
		more, q.At = page.More, page.At
	}
	return nil
}

func (o *options) exportCommand() *cobra.Command {
	var dir string
	var when int64
	var secrets bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the objects of a target as YAML, as they are or were",
		Long: `Print the objects of a target as YAML, as they are, or with --at as they were after a change. "cardea
standalone" and "kubectl apply" take the output. Secrets are left out unless --secrets is given.`,
		Example: `  cardea ledger export > gateways.yaml
  cardea ledger export --at 41 --dir before`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if secrets && isHTTP(cmp.Or(o.url, os.Getenv(variable))) {
				return errors.New("--secrets: a server shows nobody the values of Secrets; open the database itself")
			}
			return o.withLedger(cmd, func(ctx context.Context, l *opened) error {
				q := ledger.ObjectsQuery{Target: o.target, At: when, Contents: true}
				return eachObject(ctx, l.Ledger, q, func(object ledger.Object) error {
					if object.IsSecret() && !secrets || object.Forgotten {
						return nil
					}
					text, err := yaml.JSONToYAML(object.Content)
					if err != nil {
						return err
					}
					if dir != "" {
						return writeFile(dir, object.Key, text)
					}
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "---\n%s", text)
					return err
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "write a file for each object into this folder, in the place of printing")
	f.Int64Var(&when, "at", 0, "as they were after this change (default: as they are)")
	f.BoolVar(&secrets, "secrets", false, "Secrets, too, with their values")
	return cmd
}

// writeFile writes an object into a folder, as NAMESPACE/KIND-NAME.yaml; a kind has its group, if it is none of
// Kubernetes' own. Names lead nowhere else.
func writeFile(dir string, k ledger.Key, text []byte) error {
	kind := strings.ToLower(k.Kind)
	if k.Group != "" {
		kind += "." + k.Group
	}
	name := filepath.Join(k.Namespace, kind+"-"+k.Name+".yaml")
	if strings.ContainsAny(k.Namespace+kind+k.Name, `/\`) || !filepath.IsLocal(name) {
		return fmt.Errorf("%s can't be a file of its name", k)
	}
	if err := os.MkdirAll(filepath.Join(dir, k.Namespace), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if k.IsSecret() {
		mode = 0o600
	}
	file := filepath.Join(dir, name)
	return errors.Join(os.WriteFile(file, text, mode), os.Chmod(file, mode))
}

func (o *options) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that nothing but the ledger wrote its history",
		Long: `Compute all digests anew: of changes, contents, denied attempts and the registry's log. What was changed
in the database by hand does not fit any more, and is named. The digest of the newest change is printed: note it
elsewhere, and who rewrites all of the history is found out, too.

Exit codes: 0 if everything fits, 2 if not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *opened) error {
				v, err := l.Verify(ctx)
				if err != nil {
					return err
				}
				if o.output == "json" {
					err = printJSON(cmd.OutOrStdout(), v)
				} else {
					for _, wrong := range v.Wrong {
						fmt.Fprintln(cmd.OutOrStdout(), "wrong: "+wrong)
					}
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d changes, %d contents, %d denied attempts, %d edits of the registry; "+
						"the newest digest is %s\n", v.Changes, v.Contents, v.Denials, v.Registry, v.Digest)
				}
				if err == nil && len(v.Wrong) > 0 {
					err = o.Exit(nil, 2)
				}
				return err
			})
		},
	}
	o.bindOutput(cmd)
	return cmd
}
