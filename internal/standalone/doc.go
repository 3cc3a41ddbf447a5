// Package standalone joins a folder of objects, their meaning, the Envoy dialect, the xDS server, and the proxies as
// child processes, to one program that needs no cluster.
//
// It owns only the connections: which collection feeds which, one child process per Gateway, when everything is ready,
// and objects with their status as JSON. It must never know a rule of the Gateway API or a field of Envoy's
// configuration. A command calls Run once, which starts every goroutine; Check and Translate use the same world without
// proxies.
//
// Start reading at Run.
package standalone
