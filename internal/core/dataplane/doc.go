// Package dataplane is what a data plane declares of itself: its name and its proxy's, how a plan is rendered for it,
// how requests are simulated, how its configuration is shown, and what starts its proxy.
//
// A data plane is one value of Dialect. The program passes the list of them on where it is put together; nothing else
// in it names a data plane. The package owns the shape of that declaration. It must never know a data plane, nor what a
// field of its configuration means. Functions of a Dialect are pure, and may be called from any goroutine. Start
// reading at Dialect.
package dataplane
