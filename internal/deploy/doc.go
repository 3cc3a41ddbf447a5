// Package deploy runs the proxies of each Gateway in the cluster: a ServiceAccount, a ConfigMap, a Deployment and a
// Service in the Gateway's namespace, applied server-side, repaired when somebody else changes them, and taken away
// with the Gateway. And it has the pods found that XBackends select, by a Service for each.
//
// It owns these objects, the finalizers of Gateways and GatewayClasses, and what stands before the proxies
// (model.Front), which it reads from the Service. It must never know listeners, routes or what a proxy's configuration
// means: the plan says what to run, and a dialect.Pod how it is started.
//
//	plan.Proxies, plan.Selections ──> work queue ──> render ──> apply ──> API server
//	                                    ^     ^                              │
//	                            CA bundle     └──────── own objects <────────┘ ──> model.Front ──> flow
//
// One goroutine follows the plan, one each kind of object; a few work on Gateways and XBackends, each of them in one at
// a time. What a user did wrong is said in the Front; what the world did wrong is tried again, later each time. Only
// one replica may run it.
//
// Start reading at render in render.go for what is made, then Deployer.Run and Deployer.reconcile; for XBackends at
// reconcileSelection.
package deploy
