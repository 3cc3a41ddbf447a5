package extend

// Kind is a kind of policy.
type Kind struct {
	Group, Version string // "waf.example.com", "v1alpha1"
	Name, Plural   string // "WAFPolicy", "wafpolicies"
	Short          []string
	Description    string // for `kubectl explain`
	// Features says where its features are stated: AtRule, AtListener or AtBackend; AtExtension alone: its objects have no
	// targets, and count where rules name them in an extensionRef.
	Features Levels
	// Protects: whatever an object states protects what the object is for. While one can't be read, and no good version of
	// it is held, that is closed: requests are answered with an error, connections end, backends get nothing. If the kind
	// does not, that is so for its objects that state a feature that Protects.
	Protects bool
	// CountsAs says that its objects are policies of another kind; nil: they are their own. Features is not stated then.
	CountsAs *KindAlias
}

// KindAlias is the kind that objects of another one count as. All that they state but for their targets is told to the
// kind's feature, which is Unmerged.
type KindAlias struct {
	Kind       string // as in Declaration.Kind
	Definition []byte // the CustomResourceDefinition, in YAML; it has targetRefs, as policies have
	// OlderVersions are versions of the definition with other schemas, with what makes a spec of the others of theirs.
	// Files may be written in them.
	OlderVersions map[string]func(spec map[string]any) (map[string]any, error)
}

// The kinds of Cardea's own policies, by their names in Declaration.Kind.
const (
	ClientPolicy   = "ClientPolicy"
	SecurityPolicy = "SecurityPolicy"
	TrafficPolicy  = "TrafficPolicy"
	BackendPolicy  = "BackendPolicy"
	AccessPolicy   = "AccessPolicy"
)
