// Package machine says which files of this machine proxies can write, since one refuses all that is to be logged to a
// file that it can't open.
//
//	plan.Files --> Checker --> input.Files
//
// It looks and changes nothing: neither files nor folders are made. Proxies are children of this process, with its user
// and folder. It must never know what files are for. Start reading at Checker.
package machine
