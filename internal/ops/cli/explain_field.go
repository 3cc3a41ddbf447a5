package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/fielddoc"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

func explainFieldCommand(p Program) *cobra.Command {
	var recursive bool
	var output string
	cmd := &cobra.Command{
		Use:   "explain-field KIND[.FIELD...]",
		Short: "Describe a kind, or a field of a kind",
		Long: `Describe a kind, or a field of it, as "kubectl explain" does: what the field is for, its type, default and
bounds, the rules that it has to meet, and the fields in it.

The schemas are those of this program. No cluster and no running Cardea is asked. The kind is named by its plural,
singular or short name, with its group where two kinds have one name: xbackend.agentic.networking.x-k8s.io.`,
		Example: `  cardea explain-field trafficpolicy.spec.rateLimits

  # All fields of a kind, with their types
  cardea explain-field httproute --recursive

  # For a program
  cardea explain-field gateway.spec.listeners -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one kind, or one field as KIND.FIELD: %s", cmd.UseLine())
			}
			return nil
		},
		ValidArgsFunction: completeField(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			k, path, err := fieldNamed(p.Catalog, args[0])
			if err != nil {
				return err
			}
			page, err := describeField(p, k, path, recursive)
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), page)
			}
			return page.print(cmd.OutOrStdout(), recursive)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&recursive, "recursive", false, "list the fields in the field, and those in them")
	f.StringVarP(&output, "output", "o", "text", "text or json")
	completeFlag(cmd, "output", "text", "json")
	return cmd
}

// fieldPage is the answer of explain-field.
type fieldPage struct {
	Group   string          `json:"group"`
	Version string          `json:"version"`
	Kind    string          `json:"kind"`
	Also    []string        `json:"also,omitempty"` // other kinds of the same name, with their groups
	Field   *fielddoc.Field `json:"field"`
}

// fieldNamed splits KIND.FIELD, KIND.GROUP or KIND.GROUP.FIELD.
func fieldNamed(catalog *kind.Catalog, text string) (k *kind.Kind, path string, err error) {
	word, path, _ := strings.Cut(text, ".")
	k, known := catalog.FindByName(word)
	if !known {
		var names []string
		for _, k := range catalog.All() {
			names = append(names, strings.ToLower(k.String()))
		}
		return nil, "", fmt.Errorf("unknown kind %q%s", word, model.SuggestNames(word, names))
	}
	for _, of := range sameName(catalog, k) {
		rest, grouped := strings.CutPrefix(path, of.Group())
		if of.Group() != "" && grouped && (rest == "" || rest[0] == '.') {
			k, path = of, strings.TrimPrefix(rest, ".")
			break
		}
	}
	if k.Definition == nil {
		return nil, "", fmt.Errorf("%s is built into Kubernetes, and no schema of it is in this program: kubectl explain %s",
			k, strings.TrimSuffix(strings.ToLower(k.String())+"."+path, "."))
	}
	return k, path, nil
}

// sameName lists the kinds that have the name of one, in any group.
func sameName(catalog *kind.Catalog, k *kind.Kind) []*kind.Kind {
	return slices.DeleteFunc(slices.Clone(catalog.All()), func(of *kind.Kind) bool { return of.String() != k.String() })
}

// definitionOf is what the definition of a kind says in words.
func definitionOf(p Program, k *kind.Kind) (*kind.Descriptions, error) {
	i := slices.IndexFunc(p.Extensions, func(e world.Extension) bool { return e.Kind == k && e.Definition != nil })
	if i >= 0 {
		return kind.ParseDescriptions(p.Extensions[i].Definition)
	}
	return cmp.Or(kinds.FieldDescriptions(k.Kind), &kind.Descriptions{}), nil
}

func describeField(p Program, k *kind.Kind, path string, deep bool) (*fieldPage, error) {
	if first, _, _ := strings.Cut(path, "."); first == "status" {
		return nil, errors.New("the status is written by Cardea, and not described here: `cardea get " +
			strings.ToLower(k.String()) + " NAME -o yaml` shows it")
	}
	words, err := definitionOf(p, k)
	if err != nil {
		return nil, err
	}
	f, err := fielddoc.FindField(k, words, path, deep)
	if err != nil {
		return nil, err
	}
	page := &fieldPage{Group: k.Group(), Version: k.Versions[0], Kind: k.String(), Field: f}
	for _, other := range sameName(p.Catalog, k) {
		if other != k {
			page.Also = append(page.Also, other.ResourceName())
		}
	}
	return page, nil
}

func (p *fieldPage) print(w io.Writer, recursive bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "GROUP:      %s\nKIND:       %s\nVERSION:    %s\n", p.Group, p.Kind, p.Version)
	if len(p.Also) > 0 {
		fmt.Fprintf(&b, "ALSO:       %s\n", strings.Join(p.Also, ", "))
	}
	f := p.Field
	if f.Path != "" {
		fmt.Fprintf(&b, "\nFIELD:      %s <%s>%s\n", f.Path, f.Type, requiredMark(f))
	}
	printFacts(&b, f, "")
	if f.Description != "" {
		fmt.Fprintf(&b, "\nDESCRIPTION:\n%s\n", indentText(f.Description, "    "))
	}
	if len(f.Fields) > 0 {
		b.WriteString("\nFIELDS:\n")
		printFields(&b, f.Fields, "  ", recursive)
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// printFacts prints what a value can be, a line each.
func printFacts(b *strings.Builder, f *fielddoc.Field, margin string) {
	for _, fact := range []struct{ name, value string }{
		{"DEFAULT", string(f.Default)}, {"ENUM", strings.Join(f.Enum, ", ")}, {"FORMAT", f.Format},
		{"PATTERN", f.Pattern}, {"BOUNDS", strings.Join(f.Bounds, ", ")},
	} {
		if fact.value != "" {
			fmt.Fprintf(b, "%s%-12s%s\n", margin, fact.name+":", fact.value)
		}
	}
	for _, rule := range f.Rules {
		fmt.Fprintf(b, "%s%-12s%s\n", margin, "RULE:", rule)
	}
}

// printFields prints fields: of one level with the first paragraph of what they are, or as a tree of names and types.
func printFields(b *strings.Builder, fields []fielddoc.Field, margin string, tree bool) {
	for i := range fields {
		f := &fields[i]
		fmt.Fprintf(b, "%s%s <%s>%s\n", margin, f.Name(), f.Type, requiredMark(f))
		if tree {
			printFields(b, f.Fields, margin+"  ", true)
			continue
		}
		first, _, _ := strings.Cut(f.Description, "\n\n")
		if first != "" {
			b.WriteString(indentText(first, margin+"  ") + "\n")
		}
		printFacts(b, &fielddoc.Field{Default: f.Default, Enum: f.Enum, Bounds: f.Bounds}, margin+"  ")
		b.WriteByte('\n')
	}
}

func requiredMark(f *fielddoc.Field) string {
	if f.Required {
		return " -required-"
	}
	return ""
}

func indentText(text, margin string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(margin+line, " ")
	}
	return strings.Join(lines, "\n")
}

// completeField offers kinds, then the fields of the field that is typed.
func completeField(p Program) completer {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const plain = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		end := strings.LastIndexByte(typed, '.')
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if end < 0 {
			return kindWords(p.Catalog, ""), plain
		}
		k, path, err := fieldNamed(p.Catalog, typed[:end])
		if err != nil {
			return nil, plain
		}
		page, err := describeField(p, k, path, false)
		if err != nil {
			return nil, plain
		}
		var words []string
		for i := range page.Field.Fields {
			words = append(words, typed[:end+1]+page.Field.Fields[i].Name())
		}
		return words, plain
	}
}
