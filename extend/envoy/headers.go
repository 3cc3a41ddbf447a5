package envoy

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/extend"
)

// SecretHeaders is the name of a filter that changes headers to values that must not be shown.
const SecretHeaders = "headers-secret"

// HeaderMutations are changes as Envoy's header_mutation takes them.
func HeaderMutations(changes []extend.HeaderChange) []*mutationv3.HeaderMutation {
	actions := map[extend.HeaderAction]corev3.HeaderValueOption_HeaderAppendAction{
		extend.SetHeader:   corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		extend.AddHeader:   corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD,
		extend.AddIfAbsent: corev3.HeaderValueOption_ADD_IF_ABSENT,
	}
	var list []*mutationv3.HeaderMutation
	for _, c := range changes {
		if c.Action == extend.RemoveHeader {
			list = append(list, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: c.Name}})
			continue
		}
		value := c.Format
		if c.Secret != nil {
			value = extend.Literal(string(c.Secret))
		}
		list = append(list, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{
			Append: &corev3.HeaderValueOption{
				Header: &corev3.HeaderValue{Key: c.Name, Value: value}, AppendAction: actions[c.Action],
				KeepEmptyValue: c.Format == "" && c.Secret == nil,
			},
		}})
	}
	return list
}
