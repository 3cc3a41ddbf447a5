// Package conditions turns findings, and what the proxies acknowledged or refused, into the conditions of GatewayStatus
// API's status.
//
// It owns which condition is true when, and what it says. Its functions are pure; it must never know a clock (whoever
// publishes a status stamps times), a collection or a proxy. Start reading at GatewayStatus and RouteStatus.
package conditions
