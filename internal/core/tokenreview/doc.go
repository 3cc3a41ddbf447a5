// Package tokenreview tells which ServiceAccount a token is from, by the API server's TokenReview.
//
// It owns the question, what a token says of itself (which is good for refusing it without asking, never for accepting
// it), and the memory of answers: while the API server is away, what it accepted goes on being accepted until it
// expires. It must never know what a caller may do.
//
// Start reading at Reviewer; Answers is the memory by itself, for other questions of the kind.
package tokenreview
