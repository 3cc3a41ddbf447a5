package gateway

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/resolve"
)

// findConflicts marks all listeners of a port that disagree on its protocol, or that have one hostname: none may win
// (ListenerConditionConflicted).
func findConflicts(ref model.ObjectRef, views []listenerView, specs []listenerSpec) {
	for i := range views {
		for j := range views {
			f := model.Finding{Object: ref, Section: views[i].Key.Section, Condition: "Conflicted"}
			switch other := views[j].Key.Section; {
			case i == j || views[i].Port != views[j].Port:
				continue
			case !compatible(specs[i].Protocol, specs[j].Protocol):
				f.Reason, f.Field = "ProtocolConflict", fmt.Sprintf("spec.listeners[%d].protocol", i)
				f.Message = fmt.Sprintf("port %d is %s here and %s in listener %s", views[i].Port.Number, specs[i].Protocol,
					specs[j].Protocol, other)
			case specs[i].Protocol != "" && specs[j].Protocol != "" && strings.EqualFold(views[i].Hostname, views[j].Hostname):
				f.Reason, f.Field = "HostnameConflict", fmt.Sprintf("spec.listeners[%d].hostname", i)
				f.Message = fmt.Sprintf("port %d has the hostname %q in listener %s, too", views[i].Port.Number,
					model.HostnameDomain(views[i].Hostname), other)
			default:
				continue
			}
			specs[i].Findings = append(specs[i].Findings, f)
			break
		}
	}
}

// compatible tells whether listeners of the two protocols may share a port. HTTPS and TLS are told apart by SNI. A
// protocol that is not known here conflicts with none.
func compatible(a, b model.Protocol) bool {
	return a == b || a == "" || b == "" || a != model.HTTP && b != model.HTTP
}

// findOverlaps marks HTTPS listeners of one port that a client can mix up: it may reuse a connection for another host,
// although that host's SNI would have led to another listener (ListenerConditionOverlappingTLSConfig).
func findOverlaps(views []listenerView, specs []listenerSpec) {
	for i := range views {
		for j := range views {
			if i != j && views[i].Port == views[j].Port && specs[i].Protocol == model.HTTPS &&
				specs[j].Protocol == model.HTTPS &&
				len(resolve.Hostnames(views[i].Hostname, []string{model.HostnameDomain(views[j].Hostname)})) > 0 {
				specs[i].Overlaps = true
			}
		}
	}
}
