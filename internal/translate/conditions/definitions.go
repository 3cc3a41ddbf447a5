package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// CRDsInstalled is the condition of a GatewayClass that says whether the cluster has the CustomResourceDefinitions of
// all kinds that Cardea reads, as new as Cardea reads them. NotInstalled: some are absent. Outdated: some serve no
// version that is read, or lack fields.
const CRDsInstalled = "cardea.dev/CRDsInstalled"

// installed sets the condition. A definition that is missing or outdated affects no other one: all else is served.
func (c Class) installed(l *list) {
	absent := map[model.Origin][]string{}
	reason := "NotInstalled"
	var says []string
	for _, d := range c.Definitions {
		if d.Absent {
			absent[d.Origin] = append(absent[d.Origin], d.Name)
			continue
		}
		reason = "Outdated"
		says = append(says, outdated(d))
	}
	for _, origin := range []model.Origin{model.ThirdPartyOrigin, model.OwnOrigin, model.GatewayAPIOrigin} {
		if names := absent[origin]; len(names) > 0 {
			says = append(says, fmt.Sprintf("not installed: %s (%s)", strings.Join(names, ", "), installs(origin)))
		}
	}
	if len(says) == 0 {
		l.set(CRDsInstalled, true, "Installed", "all CustomResourceDefinitions that Cardea reads are installed")
		return
	}
	says = append(slices.Clip(says), "all else is served")
	l.set(CRDsInstalled, false, reason, cut(strings.Join(says, "; ")))
}

// outdated says what a definition that is installed has not, and what to do about it.
func outdated(d model.Definition) string {
	if d.NotServed {
		serves := cmp.Or(d.Serves, "no version")
		return fmt.Sprintf("%s serves %s, and %s is read (%s)", d.Name, serves, d.Reads, updates(d.Origin))
	}
	return fmt.Sprintf("%s has no %s (%s)", d.Name, d.Lacks, updates(d.Origin))
}

// installs says how a definition comes into a cluster that has none.
func installs(o model.Origin) string {
	switch o {
	case model.GatewayAPIOrigin:
		return "kubectl apply --server-side -f https://github.com/kubernetes-sigs/gateway-api/releases/download/" + readAPI +
			"/standard-install.yaml"
	case model.ThirdPartyOrigin:
		return "kubectl create -f deploy/third-party-crds.yaml"
	}
	return "apply deploy/install.yaml of this version, or what `cardea crds` prints"
}

// updates says how a definition gets newer. Cardea does not replace a definition of another project.
func updates(o model.Origin) string {
	if o == model.ThirdPartyOrigin {
		return "update it with the project that installed it; if nobody else did: " +
			"kubectl replace -f deploy/third-party-crds.yaml"
	}
	return installs(o)
}
