package extend

// Levels says where a feature can be stated.
type Levels uint8

const (
	// AtRule: for requests. By policies on GatewayClasses, Gateways, their listeners, routes and rules, and by a rule's
	// extensionRef.
	AtRule Levels = 1 << iota
	// AtExtension: by a rule's extensionRef only, in a policy without targets.
	AtExtension
	// AtBackendRef: for the requests to one of a rule's backends, by an extensionRef of the backendRef.
	AtBackendRef
	// AtListener: for connections, by policies on GatewayClasses, Gateways and listeners.
	AtListener
	// AtPort: as AtListener; all listeners of a port share one value.
	AtPort
	// AtBackend: by policies on GatewayClasses, Gateways, backends and their ports.
	AtBackend
	// AtRuleBackend: for the requests that rules send to a backend, by policies on XBackends. The feature is Unmerged.
	AtRuleBackend
	// AtPool: by policies on InferencePools.
	AtPool
)

// Has tells whether all of some levels are among them.
func (l Levels) Has(some Levels) bool { return l&some == some }

// OnInvalid is what becomes of requests if what is stated for them can't be served.
type OnInvalid string

const (
	// Deny: they are answered with an error rather than served without. For a feature that is AtListener or AtPort,
	// connections are closed.
	Deny OnInvalid = "Deny"
	// Skip: they are served without the feature.
	Skip OnInvalid = "Skip"
	// Keep: they are served without the field that is wrong.
	Keep OnInvalid = "Keep"
)
