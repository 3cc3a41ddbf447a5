// Package policy tells what policies come to: which objects each one targets, what counts of several that state the
// same feature, what is rendered at which level, and what is wrong.
//
//	policies --> attached: by target object and kind
//	Gateways --> levels:   what is effective of each feature at a Gateway and at its listeners
//	routes ----> routes:   what is effective of each feature at rules, where something narrower than a listener states it
//	users -----> backends: what is effective of each feature at backends, as each Gateway's proxies have them
//	ports -----> ports:    what is effective of each feature for the connections of listeners, which share a port
//	             levels, routes, ports, backends --> settings (plan.Settings), reports
//
// A feature is rendered where something states it, merged with what broader levels state; nearer settings count in
// proxies. So an edit of a Gateway's policy changes the Gateway's own settings and those of rules that state the same
// feature, and no others.
//
// It owns levels, merging, provenance and the status of policies. It must never know a feature, nor a data plane: both
// are passed to it (extend.UntypedFeature, plan.Renderer). Everything is pure. Start reading at New.
package policy
