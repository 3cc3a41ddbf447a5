// Package proxies runs the proxies of each Gateway in the cluster. In the Gateway's namespace it applies a
// ServiceAccount, a ConfigMap, a Deployment and a Service, server-side; for proxies that read files, a ConfigMap and a
// Secret with these files (Files). It repairs them when another client changes them, and deletes them with the Gateway.
// For each XBackend that selects pods, it applies a Service that finds them.
//
// It owns these objects, the finalizers of Gateways and GatewayClasses, and the address in front of the proxies
// (model.Front), which it reads from the Service. It must never know listeners, routes or what a proxy's configuration
// means: the plan says what to run, and a dataplane.Pod how it is started.
//
//	plan.Proxies, plan.Selections ──> work queue ──> render ──> apply ──> API server
//	                                    ^     ^                              │
//	                            CA bundle     └──────── own objects <────────┘ ──> model.Front ──> flow
//
// One goroutine follows the plan, and one each kind of object. A few workers reconcile Gateways and XBackends; no two
// work on the same one at the same time. A mistake of the user is reported in the Front. An error of the cluster is
// retried, with backoff. Only one replica may run it.
//
// Start reading at render in render.go for the objects, then Deployer.Run and Deployer.reconcileGateway; for XBackends
// at reconcileSelection.
package proxies
