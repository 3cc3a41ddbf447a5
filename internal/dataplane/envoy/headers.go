package envoy

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/internal/core/model"
)

// literal escapes what Envoy would read as a command: values with percent signs are formats to it.
func literal(value string) string { return strings.ReplaceAll(value, "%", "%%") }

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
		Header:         &corev3.HeaderValue{Key: h.Name, Value: literal(h.Value)},
		AppendAction:   action,
		KeepEmptyValue: h.Value == "",
	}
}
