package extend

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// Reader is what Read looks things up with. A feature is read again when something changes that it looked up.
type Reader interface {
	// Field is a Reader for a part of the spec, below this one's: "timeout", "providers[corp].jwks" (the element of the
	// list with the key corp). An object that is named there belongs to the policy that stated it: its namespace counts,
	// and its right to refer to others.
	Field(path string) Reader
	// Of: a Reader for what one policy states of a feature that is Unmerged.
	Of(stated EachPolicy) Reader
	// Refuse says that the field can't be served, on the policy that stated it: what is wrong and how to mend it.
	// OnInvalid decides what becomes of the requests.
	Refuse(message string)
	// RefuseAs is Refuse with a reason of its own for the condition Accepted.
	RefuseAs(reason, message string)
	// Deny is Refuse where nothing is wrong with the field: what it asks for is not there. Its policy stays accepted.
	Deny(message string)
	// Warn says something of the field that changes nothing.
	Warn(message string)
	// Pending says that what the field names is not known yet. Requests get 503 until it is.
	Pending(message string)

	// Unresolved says that the field names something that is not there (ResolvedRefs is False, for the reason), and else
	// is Refuse.
	Unresolved(reason, message string)

	// The following find what a reference leads to. If it leads to nothing usable, they have said so, as Refuse does, and
	// found is false.
	Backend(ref gatewayv1.BackendObjectReference) (key BackendKey, found bool)
	// Server is Backend for a server that proxies ask by themselves, by gRPC or not. outside: it is a hostname, which may
	// lead anywhere, also back to the proxy.
	Server(ref gatewayv1.BackendObjectReference, grpc bool) (key BackendKey, outside, found bool)
	Secret(ref gatewayv1.SecretObjectReference) (data map[string]Bytes, found bool)
	Text(from TextSource) (text string, found bool)
	// Entry is one of a ConfigMap or a Secret: what both may hold, such as certificates. check tells what is wrong with
	// its content. While the entry is missing, or does not pass, the last content that passed is found in its place, and
	// that is said of the field; if there is none, content that does not pass is found.
	Entry(of gatewayv1.ObjectReference, key string, check func(content []byte) error) (content []byte, found bool)
	// Writable says why the proxies can't write a file of the machine that they run on; "": they can, or nobody knows.
	// known is false if that is found out in a moment: until then the file must be left out.
	Writable(path string) (wrong string, known bool)
	// Fetch is what was fetched of a document last. It has said so as Pending does if nothing is known yet; as Warn does
	// if the document can't be fetched any more, or does not pass check and the last content that passed is in its place.
	// If there is none, content that does not pass is known.
	Fetch(of Document, check func(content []byte) error) (content []byte, state State)

	// Effective reads the effective spec of another feature of the same Group; false: it is not stated.
	Effective(feature string, into any) bool
	// Names are the names of the elements of a list, sorted, as policies of any kind state them anywhere; the list's
	// feature declares that it may be asked for (Relations.Names).
	Names(kind, feature, list string) []string
	Location() Location
	// IdentityHeaders are those (IdentityHeaders.AllHeaders) that policies of other kinds and the route's own filters set
	// for the requests of a rule; none at a level that many rules share.
	IdentityHeaders() []string
	// Owner is the policy that stated the field, "TrafficPolicy shop/limits"; if several state a part of the spec, it is
	// the narrowest. It tells apart what has state of its own: rules that one policy reaches may share it, and no others.
	Owner() string
}

// Location is the place for which a spec is read.
type Location struct {
	GRPC        bool   // the rules of a GRPCRoute
	Redirects   bool   // a rule that answers every request with a redirect
	Inherited   bool   // a level that many rules share: it is not known what they do
	Plaintext   bool   // a listener without TLS
	HTTP1       bool   // a backend to which HTTP/1.1 is spoken, and nothing else
	Picked      bool   // an InferencePool; only its picker chooses endpoints
	ClientCA    bool   // a listener with a Gateway that says who signs its clients' certificates (spec.tls.frontend)
	AnyClient   bool   // and that others are taken, too (AllowInsecureFallback)
	TrustDomain string // of ServiceAccounts' SPIFFE IDs; "": none is known
	PortOffset  int32  // from a port of the Gateway's listeners to the one that proxies bind
	// Connections is the kind of connections that are decided; 0: requests are.
	Connections ConnectionKinds
	// Path is what all matches of a rule compare the path with, exactly or as a prefix; "": they differ, or are others.
	Path string
	// Object is the policy's target or, for a rule, the route; Section is the listener's or the rule's name.
	Object, Section string
}

// BackendKey names a backend, as what is rendered for it is named.
type BackendKey = model.BackendKey

// State says what is known of something that is fetched.
type State uint8

// The state of something that is fetched.
const (
	Pending State = iota // nothing yet
	Known
	Absent // it was asked for, and there is none
)

// Bytes is content that must not be shown: it prints as "***", by whatever verb, also as JSON and in logs.
type Bytes []byte

// String implements fmt.Stringer.
func (b Bytes) String() string { return "***" }

// GoString implements fmt.GoStringer.
func (b Bytes) GoString() string { return "***" }

// Format implements fmt.Formatter: no verb prints the content.
func (b Bytes) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, "***") }

// MarshalText implements encoding.TextMarshaler, which log/slog asks.
func (b Bytes) MarshalText() ([]byte, error) { return []byte("***"), nil }

// MarshalJSON implements json.Marshaler. Whether there is a value at all is no secret.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	return []byte(`"***"`), nil
}

// UnmarshalJSON implements json.Unmarshaler: what was hidden stays so.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	if *b = nil; string(text) != "null" {
		*b = Bytes("***")
	}
	return nil
}

// TextSource is a text that stands in a policy, or in a ConfigMap of its namespace.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
// +structType=atomic
type TextSource struct {
	// Inline is the text itself.
	// +optional
	Inline *string `json:"inline,omitempty"`
	// ConfigMapRef names an entry of a ConfigMap.
	// +optional
	ConfigMapRef *ConfigMapKey `json:"configMapRef,omitempty"`
}

// ConfigMapKey names an entry of a ConfigMap of the policy's namespace.
//
// +structType=atomic
type ConfigMapKey struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key of the entry.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// SuggestNames ends a message of a name that is not known: which of those that are may have been meant.
func SuggestNames(name string, known []string) string { return model.SuggestNames(name, known) }
