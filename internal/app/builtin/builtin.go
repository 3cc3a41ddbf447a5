// Package builtin lists the features and the kinds of policies that Cardea has by itself.
//
// It owns the list, and nothing else. It must never know what a feature does. A new feature is a line here. Start
// reading at Plugins.
package builtin

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/policycrd"
	"cardea.dev/cardea/internal/features/access"
	"cardea.dev/cardea/internal/features/accesslog"
	"cardea.dev/cardea/internal/features/accesslogs"
	"cardea.dev/cardea/internal/features/apikey"
	"cardea.dev/cardea/internal/features/authentication"
	"cardea.dev/cardea/internal/features/authorization"
	"cardea.dev/cardea/internal/features/basicauth"
	"cardea.dev/cardea/internal/features/clientaddress"
	"cardea.dev/cardea/internal/features/clienthttp"
	"cardea.dev/cardea/internal/features/clienttimeouts"
	"cardea.dev/cardea/internal/features/clienttls"
	"cardea.dev/cardea/internal/features/compression"
	"cardea.dev/cardea/internal/features/connection"
	"cardea.dev/cardea/internal/features/connections"
	"cardea.dev/cardea/internal/features/cors"
	"cardea.dev/cardea/internal/features/credentials"
	"cardea.dev/cardea/internal/features/directresponse"
	"cardea.dev/cardea/internal/features/errorresponses"
	"cardea.dev/cardea/internal/features/extauth"
	"cardea.dev/cardea/internal/features/failover"
	"cardea.dev/cardea/internal/features/headers"
	"cardea.dev/cardea/internal/features/healthcheck"
	"cardea.dev/cardea/internal/features/jwt"
	"cardea.dev/cardea/internal/features/limits"
	"cardea.dev/cardea/internal/features/listenerhealth"
	"cardea.dev/cardea/internal/features/loadbalancer"
	"cardea.dev/cardea/internal/features/mcptools"
	"cardea.dev/cardea/internal/features/modelusage"
	"cardea.dev/cardea/internal/features/notyet"
	"cardea.dev/cardea/internal/features/outlierdetection"
	"cardea.dev/cardea/internal/features/panicthreshold"
	"cardea.dev/cardea/internal/features/proxyprotocol"
	"cardea.dev/cardea/internal/features/ratelimits"
	"cardea.dev/cardea/internal/features/retry"
	"cardea.dev/cardea/internal/features/timeouts"
)

// Plugins are the kinds of policies, and all features.
func Plugins() []extend.Plugin {
	var list []extend.Plugin
	for _, k := range policycrd.OwnKinds() {
		list = append(list, k.Plug())
	}
	list = append(list, access.XAccessPolicy.Plug(), mcptools.Kind.Plug())
	list = append(list, notyet.Features()...)
	return append(list,
		cors.Feature.Plug(),
		authentication.Feature.Plug(),
		jwt.Feature.Plug(),
		basicauth.Feature.Plug(),
		apikey.Feature.Plug(),
		extauth.Feature.Plug(),
		authorization.Feature.Plug(),

		access.Feature.Plug(),
		mcptools.Feature.Plug(),

		timeouts.Feature.Plug(),
		retry.Feature.Plug(),
		headers.Feature.Plug(),
		ratelimits.Feature.Plug(),
		accesslog.Feature.Plug(),
		modelusage.Feature.Plug(),
		directresponse.Feature.Plug(),
		errorresponses.Feature.Plug(),
		compression.Feature.Plug(),

		connection.Feature.Plug(),
		limits.Feature.Plug(),
		loadbalancer.Feature.Plug(),
		healthcheck.Feature.Plug(),
		outlierdetection.Feature.Plug(),
		panicthreshold.Feature.Plug(),
		credentials.Feature.Plug(),
		failover.Feature.Plug(),

		accesslogs.Feature.Plug(),
		listenerhealth.Feature.Plug(), // its filter is before those of other features of listeners
		connections.Feature.Plug(),
		clienttimeouts.Feature.Plug(),
		clientaddress.Feature.Plug(),
		clienthttp.Feature.Plug(), // its edits of headers come after what clientAddress takes off
		proxyprotocol.Feature.Plug(),
		clienttls.Feature.Plug(),
	)
}
