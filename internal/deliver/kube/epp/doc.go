// Package epp runs Cardea's pickers in a cluster: one for each InferencePool that names none and that a route
// names. In the pool's namespace it applies a ServiceAccount, a RoleBinding, a Deployment and a Service, server-side.
// It repairs them when another client changes or deletes them, and deletes them when the plan has the picker no more;
// with the pool, the cluster deletes them.
//
// It owns these objects. It must never know requests, scores or endpoints: `cardea picker` is a program like any other,
// and proxies find it by its Service. An object of the same name that Cardea did not apply is never touched.
//
//	plan.Pickers ──> work queue ──> render ──> apply ──> API server
//	                   ^                                    │
//	                   └─────────── own objects <───────────┘ ──> model.PickerState (why it does not run) ──> flow
//
// One goroutine follows the plan, and one each kind of object. A few workers reconcile pools; no two work on the same
// one at the same time. A change that the cluster refuses is reported and retried, with backoff. Only one replica may
// run it.
//
// Start reading at render in render.go for the objects, then Runner.Run and Runner.reconcilePool.
package epp
