package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// statusKind is a kind of object with a status that is ours to write.
type statusKind struct {
	*declared
	statusLayout
	reports plan.Reporter
}

// declared is a kind's declaration.
type declared = kind.Kind

// groupVersion is the version of the kind that is asked for.
func (k *statusKind) groupVersion() schema.GroupVersion { return k.GroupVersion(0) }

// statusLayout says where in a kind's status conditions stand, and what of it is ours.
type statusLayout struct{ *kind.Status }

// Limits and words that all kinds share.
const (
	maxConditions   = 8
	maxMessage      = 32768
	maxReason       = 1024
	controllerField = "controllerName"
	countField      = "attachedRoutes"
	conditionsField = "conditions"
)

// ownPrefix begins the types of conditions that are ours wherever they stand.
var ownPrefix = model.ControllerName[:strings.Index(model.ControllerName, "/")+1]

// isOwnCondition tells whether a condition is a controller's to set, if types are the standard ones of its place.
func isOwnCondition(types []string, condition string) bool {
	return slices.Contains(types, condition) || strings.HasPrefix(condition, ownPrefix)
}

// isProgrammed tells whether a condition says how far the proxies are.
func isProgrammed(condition string) bool {
	return condition == "Programmed" || strings.HasSuffix(condition, "/Programmed")
}

// pendingReason is the reason of a Programmed that waits for the proxies.
const pendingReason = "Pending"

// kindsOf lists the kinds that have a status, with their reports.
func kindsOf(catalog *kind.Catalog, r plan.Reports) []*statusKind {
	var list []*statusKind
	for _, k := range catalog.All() {
		if reports := r.ForKind(k.Kind); k.Status != nil && reports != nil {
			list = append(list, &statusKind{k, statusLayout{k.Status}, reports})
		}
	}
	return list
}

// report is the status to be written of one object.
type report struct {
	uid      string // of the object
	status   []byte // JSON; nil: there is no report
	findings []model.Finding
	// tentative: see plan.Report
	tentative bool
}

// deferReport makes a report later, outside the View: its values do not change.
func deferReport(r plan.Report[any], found bool) func() (report, error) {
	return func() (report, error) {
		if !found {
			return report{}, nil
		}
		text, err := json.Marshal(r.Status)
		if err != nil {
			return report{}, fmt.Errorf("encode a status: %w", err)
		}
		return report{uid: r.UID, status: text, findings: r.Findings, tentative: r.Tentative}, nil
	}
}
