// Package diff tells what applying objects would change in the proxies, before anybody does it: routes, other
// resources, requests that would go elsewhere, and what would be refused.
//
//	objects --> Differ.Diff --> flow.Try --> look: what the edits change ----> compare: routes, and requests
//	            (schema)        (a turn       (scene: the domains that          that show them, through the
//	                            thrown away)   differ, or that lead to a        simulation before and after
//	                                           backend that moves, and what
//	                                           they name)
//
// Before is what proxies are offered: where they refused something, what they accepted last (Config.Offered). After is
// what they would be.
//
// Only the Try keeps turns waiting; its cost, and that of the comparison, grows with what the edits change. The package
// owns what counts as a change, and its text. It must never know where objects come from, nor apply anything. A Differ
// may be asked from any goroutine. Start reading at Differ.Diff.
package diff
