package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/model"
)

// budgetFlag is a flag that bounds what is rendered for a Gateway.
type budgetFlag struct {
	flag, what string
	number     *int
}

func budgetsOf(b *model.Budgets) []budgetFlag {
	const routes = "routes that %s may have at one Gateway, one for each match, hostname and listener"
	const expressions = "regular expressions (of matches, and CORS origins with a star) of these routes that %s may have"
	return []budgetFlag{
		{"rule-routes", fmt.Sprintf(routes, "a rule"), &b.Rule.Routes},
		{"rule-expressions", fmt.Sprintf(expressions, "a rule"), &b.Rule.Expressions},
		{"namespace-routes", fmt.Sprintf(routes, "a namespace"), &b.Namespace.Routes},
		{"namespace-expressions", fmt.Sprintf(expressions, "a namespace"), &b.Namespace.Expressions},
		{"gateway-routes", "routes that a Gateway may have", &b.Gateway.Routes},
		{"gateway-expressions", "regular expressions of these routes that a Gateway may have", &b.Gateway.Expressions},
	}
}

// bindBudgets adds the flags that bound what is rendered for a Gateway.
func bindBudgets(cmd *cobra.Command, b *model.Budgets) {
	*b = model.DefaultBudgets
	for _, f := range budgetsOf(b) {
		cmd.Flags().IntVar(f.number, f.flag, *f.number, f.what+";\nthe newest rules that are over it answer 500; 0: no limit")
		completeFlag(cmd, f.flag)
	}
}

// checkBudgets returns an error for numbers that bound nothing.
func checkBudgets(b model.Budgets) error {
	for _, f := range budgetsOf(&b) {
		if *f.number < 0 {
			return fmt.Errorf("--%s %d: want a number that is not negative; 0 is no limit", f.flag, *f.number)
		}
	}
	return nil
}
