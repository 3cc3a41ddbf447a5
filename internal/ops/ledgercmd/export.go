package ledgercmd

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/ledger"
)

// exportFlags are the flags of `export`.
type exportFlags struct {
	dir     string
	at      int64
	secrets bool
}

func (o *options) exportCommand() *cobra.Command {
	var e exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the objects of a target as YAML, as they are or were",
		Long: `Print the objects of a target as YAML, as they are, or with --at as they were after a change. "cardea
standalone" and "kubectl apply" take the output. Secrets are left out unless --secrets is given.

With --dir, each object is a file, whose first line says that this command wrote it. Files with this line whose objects
are gone are removed, and named. Other files of the folder stay as they are.`,
		Example: `  cardea ledger export > gateways.yaml
  cardea ledger export --at 41 --dir before`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.secrets && isHTTP(cmp.Or(o.url, os.Getenv(ledgerVariable))) {
				return errors.New("--secrets: a server shows nobody the values of Secrets; open the database itself")
			}
			if e.dir != "" && o.output == "json" {
				return errors.New("-o json prints all objects as one List: leave out --dir")
			}
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				return o.exportObjects(ctx, cmd.OutOrStdout(), l, e)
			})
		},
	}
	o.bindOutput(cmd)
	f := cmd.Flags()
	f.Lookup("output").Usage = "text, which is YAML, or json"
	f.StringVar(&e.dir, "dir", "", "write a file for each object into this folder instead of printing")
	f.Int64Var(&e.at, "at", 0, "as they were after this change (default: as they are)")
	f.BoolVar(&e.secrets, "secrets", false, "Secrets, too, with their values")
	return cmd
}

// exportObjects prints or writes the objects.
func (o *options) exportObjects(ctx context.Context, w io.Writer, l *ledgerHandle, e exportFlags) error {
	list := struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []ledger.Content `json:"items"`
	}{APIVersion: "v1", Kind: "List"}
	dir := exportFolder{header: fmt.Sprintf("# Written by `cardea ledger export` of target %s.", o.target),
		written: map[string]bool{}}
	if e.dir != "" {
		root, err := openFolder(e.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		dir.Root = root
	}
	var unopened []error
	var said string // why the last one can't be opened
	q := ledger.ObjectsQuery{Target: o.target, At: e.at, Contents: true}
	err := eachObject(ctx, l.Ledger, q, func(object ledger.Object) error {
		if object.IsSecret() && !e.secrets || object.Forgotten {
			dir.keepFile(object.Key)
			return nil
		}
		if object.Unopened != "" {
			dir.keepFile(object.Key)
			why := object.Unopened
			if why == said {
				why = "for the same reason"
			}
			said = object.Unopened
			unopened = append(unopened, fmt.Errorf("%s is left out: %s", object.Key, why))
			return nil
		}
		if o.output == "json" {
			list.Items = append(list.Items, object.Content)
			return nil
		}
		text, err := yaml.JSONToYAML(object.Content)
		if err != nil {
			return err
		}
		if e.dir != "" {
			return dir.writeObject(object.Key, text)
		}
		_, err = fmt.Fprintf(w, "---\n%s", text)
		return err
	})
	switch {
	case err != nil:
		return err
	case o.output == "json":
		err = printJSON(w, list)
	case e.dir != "":
		err = dir.removeStale(w)
	}
	return errors.Join(err, errors.Join(unopened...))
}

// exportFolder is where an export writes files. Links in it lead nowhere else.
type exportFolder struct {
	*os.Root
	header  string          // line of each file
	written map[string]bool // paths below the folder that stay
}

func openFolder(path string) (*os.Root, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(path)
}

// fileOf is NAMESPACE/KIND-NAME.yaml; a kind has its group, if it is none of Kubernetes' own. Names lead nowhere else.
func fileOf(k ledger.Key) (string, error) {
	kind := strings.ToLower(k.Kind)
	if k.Group != "" {
		kind += "." + k.Group
	}
	name := filepath.Join(k.Namespace, kind+"-"+k.Name+".yaml")
	if strings.ContainsAny(k.Namespace+kind+k.Name, `/\`) || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s can't be written to a file of its name", k)
	}
	return name, nil
}

// keepFile leaves the file of an object that is there and is not written.
func (d exportFolder) keepFile(k ledger.Key) {
	if name, err := fileOf(k); err == nil {
		d.written[name] = true
	}
}

// writeObject writes an object.
func (d exportFolder) writeObject(k ledger.Key, text []byte) error {
	name, err := fileOf(k)
	if err != nil {
		return err
	}
	if k.Namespace != "" {
		if err := d.MkdirAll(k.Namespace, 0o755); err != nil {
			return err
		}
	}
	mode := os.FileMode(0o644)
	if k.IsSecret() {
		mode = 0o600
	}
	d.written[name] = true
	return d.replaceFile(name, append([]byte(d.header+"\n"), text...), mode)
}

// replaceFile puts a file in the place of whatever has its name, also of a link. Nobody else can read it before it has
// its mode.
func (d exportFolder) replaceFile(name string, text []byte, mode os.FileMode) error {
	made := filepath.Join(filepath.Dir(name), ".export-"+rand.Text())
	file, err := d.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err == nil {
		err = d.Rename(made, name)
	}
	if err != nil {
		return errors.Join(err, d.Remove(made))
	}
	return nil
}

// removeStale removes the files that an earlier export wrote, and this one did not.
func (d exportFolder) removeStale(w io.Writer) error {
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		list, err := fs.Glob(d.FS(), pattern)
		if err != nil {
			return err
		}
		for _, name := range list {
			name = filepath.FromSlash(name)
			if d.written[name] || d.firstLine(name) != d.header {
				continue
			}
			if err := d.Remove(name); err != nil {
				return err
			}
			fmt.Fprintf(w, "removed %s\n", name)
		}
	}
	return nil
}

// firstLine is the first line of a file; "" if it is none that can be read.
func (d exportFolder) firstLine(name string) string {
	if is, err := d.Lstat(name); err != nil || !is.Mode().IsRegular() {
		return ""
	}
	file, err := d.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, err := bufio.NewReader(file).ReadString('\n')
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(line, "\n")
}
