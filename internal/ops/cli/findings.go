package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
)

// findingsWords are what a user may write in the place of a KIND to see findings.
var findingsWords = []string{"findings", "finding"}

// fetchFindings asks for what is wrong with objects: the running Cardea, or the objects of a cluster.
func (o *getOptions) fetchFindings(cmd *cobra.Command, p Program) (list []admin.Finding, err error) {
	if err := o.notWith("--server", o.server, asksServer); err != nil {
		return nil, err
	}
	if o.ofKube() {
		c, err := o.openCluster(cmd, p, model.DefaultBudgets)
		if err != nil {
			return nil, err
		}
		warnUnread(cmd, c)
		list = c.Findings()
	} else {
		c, err := o.newClient(p.Catalog)
		if err != nil {
			return nil, err
		}
		text, err := c.getJSON(cmd.Context(), "/findings")
		if err == nil {
			err = decodeAnswer(text, &list)
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(f admin.Finding) bool { return !o.isAbout(f) }), nil
}

// isAbout tells whether a finding is about the namespace that is asked for, if one is. A finding without a namespace
// may be about each: a GatewayClass, a file that can't be read.
func (o *getOptions) isAbout(f admin.Finding) bool {
	_, name, _ := strings.Cut(f.Object, " ") // "HTTPRoute shop/web"
	namespace, _, namespaced := strings.Cut(name, "/")
	return o.namespace == "" || o.all || !namespaced || namespace == o.namespace
}

func getFindings(cmd *cobra.Command, o getOptions, p Program) error {
	list, err := o.fetchFindings(cmd, p)
	if err != nil {
		return err
	}
	if o.wantsText() {
		text, err := encodeDocument(object{"apiVersion": "v1", "kind": "List", "items": slices.Concat([]admin.Finding{},
			list)})
		if err != nil {
			return err
		}
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	if len(list) == 0 && !o.watch {
		cmd.PrintErrln("No findings.")
		return nil
	}
	return o.showTable(cmd, findingsTable(list), func() (table, error) {
		list, err := o.fetchFindings(cmd, p)
		return findingsTable(list), err
	})
}

func findingsTable(list []admin.Finding) table {
	t := table{columns: []string{"SEVERITY", "OBJECT", "WHERE", "REASON", "MESSAGE"}}
	for _, f := range list {
		message := f.Message
		if f.Field != "" {
			message = f.Field + ": " + message
		}
		row := []string{f.Severity, f.Object, f.Where, f.Reason, strings.Join(strings.Fields(message), " ")}
		t.addRow(strings.Join(row, "\t"), row)
	}
	return t
}

// errFindingsName: findings have no names.
var errFindingsName = errors.New("findings have no names: `cardea explain KIND/NAME` shows those of one object")

// isFindings reports whether the arguments ask for findings.
func isFindings(args []string) bool {
	return len(args) > 0 && slices.Contains(findingsWords, strings.ToLower(args[0]))
}
