// Package redact shows resources, and what an Envoy says of those that it refuses, without their secrets.
//
// It owns which fields are secret, how resources are printed, and how Envoy's words name what was refused. It must
// never know a plan, or what becomes of a refusal. Start reading at RefusalParser.
package redact

import (
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// debugText is a message that Envoy prints whole, with all that is in it, ahead of the field that it refuses.
var debugText = regexp.MustCompile(`(?s)goo\.gle/debug.*?: (Proto constraint validation failed)`)

// RedactMessage implements resource.RefusalParser. Envoy quotes what it refuses: a key that is there twice, the
// beginning of a script, a whole message with an invalid field.
func (RefusalParser) RedactMessage(t resource.Type, was, is []*resource.Part, message string) string {
	message = debugText.ReplaceAllString(message, "$1")
	return redactQuotes(message, secretsIn(t, was, is))
}

// secretsIn are the texts in a resource that must not be shown. All parts of an extension are searched, and only the
// changed parts of other resources.
func secretsIn(t resource.Type, was, is []*resource.Part) (texts []string) {
	collect := func(parts ...*resource.Part) {
		m, err := message.NewMessage(t)
		if err != nil || proto.Unmarshal(resource.Resource{Parts: parts}.AppendBytes(nil), m) != nil {
			return
		}
		tell := func(text string) { texts = append(texts, text) }
		if table, ok := m.(*routev3.RouteConfiguration); ok {
			hideHeaders(table, tell)
		}
		redactMessage(m.ProtoReflect(), tell)
	}
	if t == xdstypes.Extension {
		collect(is...)
		return texts
	}
	for c := range resource.DiffParts(was, is) {
		if c.New != nil {
			collect(c.New)
		}
	}
	return texts
}

const (
	// quoteLength is how many bytes of a secret make a quotation. Shorter runs stand in any text.
	quoteLength = 8
	// minSecretLength is the length of the shortest secret that is looked for.
	minSecretLength = 4
)

// redactQuotes replaces what of a message is quoted from secrets.
func redactQuotes(message string, secrets []string) string {
	hidden := make([]bool, len(message))
	for size := minSecretLength; size <= quoteLength; size++ { // a shorter secret counts whole
		at := map[string][]int{} // where each run of that size begins
		for i := range max(0, len(message)-size+1) {
			at[message[i:i+size]] = append(at[message[i:i+size]], i)
		}
		for _, secret := range secrets {
			if len(secret) < size || size < quoteLength && len(secret) > size {
				continue
			}
			for i := range len(secret) - size + 1 {
				for _, begin := range at[secret[i:i+size]] {
					for j := begin; j < begin+size; j++ {
						hidden[j] = true
					}
				}
			}
		}
	}
	var out strings.Builder
	for i := range len(message) {
		switch {
		case !hidden[i]:
			out.WriteByte(message[i])
		case i == 0 || !hidden[i-1]:
			out.WriteString(redacted)
		}
	}
	return strings.ToValidUTF8(out.String(), "")
}
