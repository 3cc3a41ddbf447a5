// Package sandbox runs a program in its own network, mount and PID namespaces. Everything that the program starts
// there, and every network namespace, address, route and mount that it makes, ends with it: the kernel does that,
// however the program ends.
//
// It owns the namespaces and the processes on the way in. There are three of the same program:
//
//	outside    as it was started: makes the namespaces, waits, ends with the exit code of the one inside
//	  init     process 1 of the PID namespace: reaps orphans. The kernel kills it if the one outside ends, and all
//	           others with it
//	    inside does the work
//
// It must never know what the program does inside. Call Enter first in main; Listen may be called from any goroutine.
//
// Start reading at Enter.
package sandbox
