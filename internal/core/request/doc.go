// Package request is what users ask about and are told: a request as a client sends it, what a data plane does with it,
// which rules were tried and what each misses, and requests that show what a rule takes (witnesses).
//
//	Request --> Simulation.SimulateRequest  --> Result: listener, certificates, domain, Outcomes (rule, backend, Effect)
//	        --> Simulation.CompareRoutes --> RouteComparison: the routes of its host in order, and what each misses
//	table, domain --> Simulation.ListRoutes --> Route --> witnesses
//	Connection --> Simulation.SimulateConnection --> Result, in which backends have shares of the connections
//
// It owns these shapes and their words. They name what objects made by its key (model.RuleKey, model.BackendKey,
// model.ListenerKey): a dialect's simulation knows which key each name in its configuration was made of. The package
// must never know a data plane, or what its configuration looks like.
//
// Values are plain data. A Simulation is asked by one goroutine at a time. Start reading at Simulation.
package request
