// Package standalone is a roof: it joins a folder of objects, what they mean, the data planes' dialects, the xDS server
// and the proxies as child processes into one program that needs no cluster.
//
// It owns the joints only: which collection feeds which, one child per Gateway, when the whole is ready, and objects
// with their status as JSON. It must never know a rule of the Gateway API or a data plane: its dialect says
// what starts a proxy. Run is
// called once by a command and starts every goroutine; Check and Translate use the same world without proxies.
//
// Start reading at Run.
package standalone
