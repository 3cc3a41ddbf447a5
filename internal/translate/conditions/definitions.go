package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// CRDsInstalled is the condition of a GatewayClassStatus that says whether the cluster has the
// CustomResourceDefinitions of all kinds that Cardea reads, as new as Cardea reads them. NotInstalled: some are absent.
// Outdated: some serve no version that is read, or lack fields.
const CRDsInstalled = "cardea.dev/CRDsInstalled"

// setInstalled sets the condition. A definition that is missing or outdated affects no other one: all else is served.
func (c GatewayClassFacts) setInstalled(l *conditionList) {
	absent := map[model.KindOrigin][]string{}
	reason := "NotInstalled"
	var says []string
	for _, d := range c.Definitions {
		if d.Absent {
			absent[d.Origin] = append(absent[d.Origin], d.Name)
			continue
		}
		reason = "Outdated"
		says = append(says, describeOutdated(d))
	}
	for _, origin := range []model.KindOrigin{model.ThirdPartyOrigin, model.OwnOrigin, model.GatewayAPIOrigin} {
		if names := absent[origin]; len(names) > 0 {
			says = append(says, fmt.Sprintf("not installed: %s (%s)", strings.Join(names, ", "), installHint(origin)))
		}
	}
	if len(says) == 0 {
		l.setCondition(CRDsInstalled, true, "Installed", "all CustomResourceDefinitions that Cardea reads are installed")
		return
	}
	says = append(slices.Clip(says), "all else is served")
	l.setCondition(CRDsInstalled, false, reason, truncate(strings.Join(says, "; ")))
}

// describeOutdated says what a definition that is installed has not, and what to do about it.
func describeOutdated(d model.Definition) string {
	if d.NotServed {
		serves := cmp.Or(d.Serves, "no version")
		return fmt.Sprintf("%s serves %s, but Cardea reads %s (%s)", d.Name, serves, d.Reads, updateHint(d.Origin))
	}
	return fmt.Sprintf("%s has no %s (%s)", d.Name, d.Lacks, updateHint(d.Origin))
}

// installHint says how a definition comes into a cluster that has none.
func installHint(o model.KindOrigin) string {
	switch o {
	case model.GatewayAPIOrigin:
		return "kubectl apply --server-side -f https://github.com/kubernetes-sigs/gateway-api/releases/download/" + readAPI +
			"/standard-install.yaml"
	case model.ThirdPartyOrigin:
		return "kubectl create -f deploy/third-party-crds.yaml"
	}
	return "apply deploy/install.yaml of this version, or what `cardea crds` prints"
}

// updateHint says how a definition gets newer. Cardea does not replace a definition of another project.
func updateHint(o model.KindOrigin) string {
	if o == model.ThirdPartyOrigin {
		return "update it with the project that installed it; if nobody else did: " +
			"kubectl replace -f deploy/third-party-crds.yaml"
	}
	return installHint(o)
}
