package envoy

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/internal/model"
)

// literal escapes what Envoy would read as a command: values with percent signs are formats to it.
func literal(value string) string { return strings.ReplaceAll(value, "%", "%%") }

// headerOptions renders a modifier. Host is no header that Envoy lets a modifier touch: setting it is told apart.
func headerOptions(m *model.HeaderModifier) (options []*corev3.HeaderValueOption, remove []string, host string, err error) {
	if m == nil {
		return nil, nil, "", nil
	}
	for _, h := range m.Set {
		if isHost(h.Name) {
			host = h.Value
			continue
		}
		options = append(options, headerOption(h, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	for _, h := range m.Add {
		if isHost(h.Name) {
			return nil, nil, "", fmt.Errorf("a second %s header can't be added", h.Name)
		}
		options = append(options, headerOption(h, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	for _, name := range m.Remove {
		if isHost(name) {
			return nil, nil, "", fmt.Errorf("the %s header can't be removed", name)
		}
		remove = append(remove, name)
	}
	return options, remove, host, nil
}

func headerOption(h model.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:         &corev3.HeaderValue{Key: h.Name, Value: literal(h.Value)},
		AppendAction:   action,
		KeepEmptyValue: h.Value == "",
	}
}

func isHost(name string) bool { return strings.EqualFold(name, "host") || strings.HasPrefix(name, ":") }
