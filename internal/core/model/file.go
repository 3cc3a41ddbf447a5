package model

// File is a file of the machine on which proxies run.
type File struct{ Path string }

// FileState is what is known of a file.
type FileState struct {
	Problem string // why it can't be written to, and what to do; "": it can
}
