// Package kinds declares the kinds of objects that Cardea reads by itself, one a file: names, content, what each refers
// to, the form of its status, its columns.
//
// It owns these declarations (All), and the sources of their objects by Go type (Sources). It must never know what an
// object means to a proxy, nor who reads the declarations. Everything in it is a constant after the program began.
//
// Start reading at httproute.go.
package kinds
