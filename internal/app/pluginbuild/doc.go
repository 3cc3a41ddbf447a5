// Package pluginbuild makes a program of Cardea with the features of other modules: it writes a main package into a
// folder of its own and runs the Go command there.
//
//	PACKAGE@VERSION, PACKAGE=FOLDER --parse--> Module --Run--> main.go, go.mod --go build--> program
//
// Each package has a function `Plugins() []extend.Plugin`; the program is cardea.Main with those of all packages. The
// package owns that convention and the messages about missing parts. It must never know a feature, nor how a program is
// put together of plugins. Nothing of it is called concurrently. Start reading at Run.
package pluginbuild
