// Package conditions turns findings, and what the proxies acknowledged or refused, into the conditions of Gateway API's status.
//
// Its functions are pure: they know no clock (the edge that publishes a status stamps times) and no collection. It owns which
// condition is true when, and what it says. Start reading at Gateway and Route.
package conditions
