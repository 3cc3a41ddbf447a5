package route

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/model"
)

// escapeFormat escapes what Envoy would read as a command: values with percent signs are formats to it.
func escapeFormat(value string) string { return strings.ReplaceAll(value, "%", "%%") }

// headerOptions renders a modifier. Envoy lets none touch Host; the plan has none that does.
func headerOptions(m *model.HeaderModifier) (options []*corev3.HeaderValueOption, remove []string) {
	if m == nil {
		return nil, nil
	}
	for _, h := range m.Set {
		options = append(options, headerOption(h, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	for _, h := range m.Add {
		options = append(options, headerOption(h, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	return options, m.Remove
}

func headerOption(h model.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:         &corev3.HeaderValue{Key: h.Name, Value: escapeFormat(h.Value)},
		AppendAction:   action,
		KeepEmptyValue: h.Value == "",
	}
}

// RemoveHeaders takes headers off requests.
func RemoveHeaders(headers []string) *headermutationv3.HeaderMutation {
	var changes []extend.HeaderChange
	for _, name := range headers {
		changes = append(changes, extend.HeaderChange{Action: extend.RemoveHeader, Name: name})
	}
	return &headermutationv3.HeaderMutation{
		Mutations: &headermutationv3.Mutations{RequestMutations: extendenvoy.HeaderMutations(changes)},
	}
}
